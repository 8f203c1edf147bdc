// What a pass is expected to cost before it has been measured. Decides what cannot wait for a
// clock: which candidates are worth making and trying, whether compiling pays for a number of
// calls, and what deterministic layers run.
//
// Rough on purpose: right about which candidate wins by much, not about a tenth.
#pragma once

#include <span>

#include "sparsejit/machine.h"
#include "sparsejit/plan.h"

namespace sparsejit {

// Seconds, on one thread.
struct PassCost {
  double call = 0;
  double compile = 0;
};

// The steps of a pass as planned for one candidate, and what they walk over in a call.
struct PassWork {
  std::span<const Plan> plans;
  int64_t floats = 0;  // of a stream, in all slabs
  int64_t slabs = 1;
  int64_t longest_slab = 0;  // in floats
  // Streams that are packed slab by slab or unpacked, that are copied to or from tiles, and that
  // tiles have for each position of a kernel.
  int64_t packed_streams = 0;
  int64_t copied_streams = 0;
  int64_t shifted_streams = 0;
};

PassCost predict_native(const PassWork& work, const MachineModel& machine);
PassCost predict_interpreted(const PassWork& work, const MachineModel& machine);

// A pass of a linear layer by products of dense matrices.
struct DenseWork {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t batch = 0;
  bool with_weight = true;     // forward, or the gradient of the input
  bool with_gradient = false;  // of the weight
};
PassCost predict_dense(const DenseWork& work, const MachineModel& machine);

// Calls after which compiling has paid; 0: never.
double break_even_calls(const PassCost& compiled, const PassCost& other);

}  // namespace sparsejit
