// See variant.h. Read choose() first.
#include "variant.h"

#include <algorithm>

#include "pick_key.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Candidates predicted to take so much longer than the best are neither made nor tried. On 480
// linear passes (Zen 4, hot) none of those was measured faster than 1.04x the best; the ratio of
// two candidates is predicted within a factor of 1.4, root mean square.
constexpr double kFarSlower = 2;
// Two kinds of generated code differ less than the model does about intrinsics, and each costs a
// compile: one is only made beside another that is predicted about as fast.
constexpr double kFarSlowerCode = 1.25;

}  // namespace

Variant::Variant(LayerContext& layer, const PassShape& shape, const Slabs& slabs)
    : layer_(layer), shape_(shape), slabs_(slabs), candidates_(make_candidates(layer)) {}

int Variant::choose(const LoweredLayerPtr& lowered) {
  const CandidateTarget wanted = target(lowered);
  if (contenders_.empty()) make_list(wanted);
  if (!make_contenders(wanted)) {
    start_making(wanted, candidates_[fallback()]);
    return fallback();
  }
  return decided() ? contenders_.front() : picker_.next();
}

void Variant::make_list(const CandidateTarget& target) {
  const LayerOptions& options = layer_.options;
  for (int i = 0; i <= fallback(); ++i) {
    if (candidates_[i].allowed && is_possible(target, candidates_[i])) contenders_.push_back(i);
  }
  if (decided()) {
    why_ = options.engine == Engine::automatic ? Why::only_one : Why::asked_for;
    return;
  }
  pick_key_ = uses_memory() ? key_of(target) : "";
  if (const int known = remembered(); known != Picker::kUndecided) {
    contenders_ = {known};
    why_ = Why::remembered;
    return;
  }
  choose_by_prediction(target);
}

void Variant::choose_by_prediction(const CandidateTarget& target) {
  for (const int number : contenders_) {
    candidates_[number].predicted = predict(target, candidates_[number]);
  }
  why_ = Why::predicted;
  if (layer_.options.deterministic) {
    contenders_ = {predicted_best()};
  } else {
    shorten_list(target);
  }
}

// Layers that expect few calls weigh the time to compile as well.
bool Variant::uses_memory() const {
  return !layer_.options.deterministic && layer_.options.expected_calls == 0;
}

std::string Variant::key_of(const CandidateTarget& target) const {
  std::vector<const char*> names;
  for (const int number : contenders_) names.push_back(candidates_[number].kind.name);
  return pick_key({.spec = target.lowered->spec,
                   .shape = shape_,
                   .relu = layer_.options.relu,
                   .machine = layer_.runtime->machine,
                   .threads = layer_.runtime->pool.threads(),
                   .candidates = names});
}

int Variant::remembered() const {
  if (pick_key_.empty()) return Picker::kUndecided;
  const std::string name = layer_.runtime->picks.find(pick_key_);
  for (const int number : contenders_) {
    if (name == candidates_[number].kind.name) return number;
  }
  return Picker::kUndecided;
}

// Where a candidate could not be made, for want of memory perhaps, the choice was not a free one.
void Variant::remember(int chosen) const {
  if (pick_key_.empty() || std::ranges::any_of(candidates_, &Candidate::failed)) return;
  layer_.runtime->picks.remember({.key = pick_key_, .candidate = candidates_[chosen].kind.name});
}

int Variant::predicted_best() const {
  return *std::ranges::min_element(contenders_, {}, [&](int i) { return predicted(i); });
}

// Generated code is also left out where it would not pay for itself within the calls expected.
void Variant::shorten_list(const CandidateTarget& target) {
  const double best = predicted(predicted_best());
  const PassCost& interpreted = candidates_[fallback()].predicted;
  const int64_t expected = layer_.options.expected_calls;
  for (const int number : contenders_) {
    Candidate& candidate = candidates_[number];
    if (number == fallback()) continue;
    const PassCost& cost = candidate.predicted;
    const double pays_after = break_even_calls(cost, interpreted);
    const bool like_best = candidate.generated() && candidates_[predicted_best()].generated();
    if (cost.call > (like_best ? kFarSlowerCode : kFarSlower) * best ||
        (expected > 0 && candidate.generated() && cost.call >= interpreted.call)) {
      decline(candidate, fmt::format("predicted {:.1f}x the time of {}", cost.call / best,
                                     candidates_[predicted_best()].kind.name));
    } else if (expected > 0 && static_cast<double>(expected) < pays_after &&
               !is_at_hand(target, candidate)) {
      decline(candidate, fmt::format("expected calls: {}; compiling, predicted {:.2f} ms, would "
                                     "pay after {:.0f}",
                                     expected, cost.compile * 1e3, pays_after + 1));
      why_ = Why::only_one;
    }
  }
  std::erase_if(contenders_,
                [&](int number) { return candidates_[number].state == CandidateState::declined; });
}

bool Variant::make_contenders(const CandidateTarget& target) {
  bool ready = true;
  for (const int number : contenders_) {
    start_making(target, candidates_[number]);
    poll(target, candidates_[number]);
    ready &= candidates_[number].state != CandidateState::pending;
  }
  if (std::erase_if(contenders_, [&](int number) { return candidates_[number].failed(); }) > 0) {
    if (why_ == Why::predicted) predict_anew(target);
    if (contenders_.empty()) replace_failed(target);
    if (decided()) why_ = Why::only_one;
    return make_contenders(target);
  }
  if (ready && !decided()) picker_.enter(contenders_);
  return ready;
}

// Without those that failed: what was left out because of one may be the best now.
void Variant::predict_anew(const CandidateTarget& target) {
  contenders_.clear();
  for (int i = 0; i <= fallback(); ++i) {
    Candidate& candidate = candidates_[i];
    if (!candidate.allowed || candidate.failed() || !is_possible(target, candidate)) continue;
    if (candidate.state == CandidateState::declined) {
      release(candidate);
      candidate.note.clear();
    }
    contenders_.push_back(i);
  }
  if (!contenders_.empty()) choose_by_prediction(target);
}

// By those that had lost against it, if there are any, in an earlier measurement.
void Variant::replace_failed(const CandidateTarget& target) {
  for (int i = 0; i <= fallback(); ++i) {
    const Candidate& candidate = candidates_[i];
    const bool out = candidate.failed() || candidate.state == CandidateState::declined;
    if (candidate.allowed && !out && is_possible(target, candidate)) contenders_.push_back(i);
  }
  if (contenders_.empty()) contenders_.push_back(fallback());
}

bool Variant::measures() const {
  return !decided() && std::all_of(contenders_.begin(), contenders_.end(), [&](int number) {
    return candidates_[number].state == CandidateState::built;
  });
}

// The code of those that lost is let go.
void Variant::record(int candidate, double seconds) {
  if (!measures()) return;
  picker_.record(candidate, seconds);
  const int chosen = picker_.chosen();
  if (chosen == Picker::kUndecided) return;
  remember(chosen);
  for (const int number : contenders_) {
    if (number != chosen) release(candidates_[number]);
  }
  contenders_ = {chosen};
  why_ = Why::measured;
}

void Variant::forget_mask(bool keep_choice) noexcept {
  was_used_ = !contenders_.empty();
  for (Candidate& candidate : candidates_) sparsejit::forget_mask(candidate);
  if (!keep_choice) picker_.restart();
  const bool chosen = decided() && (why_ == Why::measured || why_ == Why::remembered);
  if (!keep_choice || !chosen) {
    contenders_.clear();
  } else {
    for (int i = 0; i < fallback(); ++i) {
      if (i != contenders_.front()) release(candidates_[i]);
    }
  }
}

Regeneration Variant::regenerate(const LoweredLayerPtr& lowered) {
  Regeneration work;
  if (!was_used_) return work;
  const CandidateTarget wanted = target(lowered);
  if (contenders_.empty()) make_list(wanted);
  for (const int number : contenders_) {
    if (!candidates_[number].generated()) continue;
    start_making(wanted, candidates_[number]);
    work.add(candidates_[number].code.work);
  }
  return work;
}

}  // namespace sparsejit
