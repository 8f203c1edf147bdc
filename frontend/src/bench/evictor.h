// Evictor: makes the caches cold between two timed runs, as the other layers of a network do.
//
// It streams through a buffer larger than the last-level cache, then runs both passes of another
// compiled layer on the same runtime, so that the threads that execute kernels find foreign code
// in their instruction caches and foreign branches in their predictors. Every engine gets the same
// treatment. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/problem.h"
#include "sparsejit/layer.h"

namespace sparsejit::frontend {

class Evictor {
 public:
  explicit Evictor(Runtime& runtime);
  void run();

 private:
  std::vector<uint64_t> buffer_;
  volatile uint64_t sink_ = 0;  // keeps the reads of the buffer
  Problem problem_;
  Layer layer_;
};

}  // namespace sparsejit::frontend
