// EnginePicker: measures native against interpreted on the caller's own calls, keeps the faster.
//
// Both engines give the same bits, so trying them in turn changes nothing but time. The first call
// of each engine is a warm-up; then both are sampled alternately and the medians compared. Close
// pairs are sampled longer. Plain state, not thread-safe.
#pragma once

#include <vector>

#include "sparsejit/layer.h"

namespace sparsejit {

class EnginePicker {
 public:
  // The engine of the next call while undecided: native first, then in turn.
  Engine next() const;
  void record(Engine engine, double seconds);
  // automatic while undecided.
  Engine chosen() const { return chosen_; }
  // Seconds, 0 without samples.
  double median(Engine engine) const;
  // The decision is remade, for instance after the mask changed a lot.
  void restart() { *this = {}; }

 private:
  struct Samples {
    int calls = 0;
    std::vector<double> seconds;
  };
  const Samples& of(Engine engine) const {
    return engine == Engine::native ? native_ : interpreted_;
  }

  Samples native_;
  Samples interpreted_;
  Engine chosen_ = Engine::automatic;
};

}  // namespace sparsejit
