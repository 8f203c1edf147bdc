// Variant: one shape that a layer has met, its candidates, and which of them runs.
//
// A shape is a pass, a number of images (or samples), their size and, for each tensor, the pitch at
// which it is used in place or 0 where it is packed. The way to a choice, once a mask:
//
//     candidates -> remembered from a similar mask? then that one, without measuring
//                -> short list: those the options allow, without those that are predicted to be far
//                   slower than the best; the interpreted one always stays
//                -> made, at once or in the background; the interpreted one runs meanwhile
//                -> measured in turn (picker.h), the fastest is chosen
//
// The candidate that runs changes between calls only. PassVariants has the lock.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "candidates.h"
#include "cost_model.h"
#include "picker.h"

namespace sparsejit {

class Variant {
 public:
  Variant(LayerContext& layer, const PassShape& shape, const Slabs& slabs);

  const PassShape& shape() const { return shape_; }
  const Slabs& slabs() const { return slabs_; }
  const Candidate& candidate(int number) const { return candidates_[number]; }

  // The candidate of the next call, ready to run. Makes what is missing.
  int choose(const LoweredLayerPtr& lowered);
  // Whether the picker wants to know how long it takes.
  bool measures() const;
  void record(int candidate, double seconds);

  // The mask changes: nothing made for the old one is run any more, though its chunks may serve on.
  void forget_mask(bool keep_choice) noexcept;
  // Makes what the new mask needs, if the shape was in use with the old one.
  Regeneration regenerate(const LoweredLayerPtr& lowered);
  KernelReport report() const;

 private:
  enum class Why { asked_for, only_one, predicted, remembered, measured };

  CandidateTarget target(const LoweredLayerPtr& lowered) const {
    return {layer_, lowered, shape_, slabs_};
  }
  bool decided() const { return contenders_.size() == 1; }
  int fallback() const { return static_cast<int>(candidates_.size()) - 1; }
  void make_list(const CandidateTarget& target);
  void choose_by_prediction(const CandidateTarget& target);
  void shorten_list(const CandidateTarget& target);
  int predicted_best() const;
  bool uses_memory() const;
  std::string key_of(const CandidateTarget& target) const;
  int remembered() const;
  void remember(int chosen) const;
  // False while one is pending.
  bool make_contenders(const CandidateTarget& target);
  void replace_failed(const CandidateTarget& target);
  void predict_anew(const CandidateTarget& target);
  bool is_pending() const;
  int running() const;  // by the next call; kUndecided while measuring
  std::string reason() const;
  std::string reason_of_choice() const;
  std::string advantage(const char* how, const std::function<double(int)>& seconds) const;
  double predicted(int candidate) const { return candidates_[candidate].predicted.call; }

  LayerContext& layer_;
  const PassShape shape_;
  const Slabs slabs_;
  std::vector<Candidate> candidates_;
  // The numbers of those that may still be chosen; one: decided; none: the mask is new.
  std::vector<int> contenders_;
  Why why_ = Why::only_one;  // once decided
  std::string pick_key_;     // of the mask; empty: nothing is to be remembered
  Picker picker_;
  bool was_used_ = false;  // before the mask changed
};

}  // namespace sparsejit
