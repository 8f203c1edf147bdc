// Buffer and foreign layer; see evictor.h.
#include "bench/evictor.h"

#include <algorithm>

#include "bench/contender.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kLargestBuffer = int64_t{128} << 20;

// About 50,000 stored weights: more code than a second-level cache holds, in one or two
// milliseconds.
Workload foreign_workload() {
  Workload workload;
  workload.in = 1024;
  workload.out = 1024;
  workload.batch = 64;
  workload.sparsity = 0.95;
  workload.seed = 0x5eed;
  return workload;
}

}  // namespace

Evictor::Evictor(Runtime& runtime)
    : buffer_(static_cast<size_t>(std::min(2 * runtime.machine().l3_bytes, kLargestBuffer)) /
                  sizeof(uint64_t),
              1),
      problem_(make_problem(foreign_workload())),
      layer_(make_layer(problem_, Engine::native, runtime)) {}

void Evictor::run() {
  constexpr size_t kLine = 64 / sizeof(uint64_t);
  uint64_t sum = 0;
  for (size_t i = 0; i < buffer_.size(); i += kLine) sum += buffer_[i];
  sink_ = sum;
  for (const Pass pass : kBothPasses) run_layer(layer_, problem_, pass);
}

}  // namespace sparsejit::frontend
