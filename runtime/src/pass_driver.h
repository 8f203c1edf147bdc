// run_step: everything between the caller's tensors and the engines' panels.
//
//     values --order--> [pack] -> kernel over parts x blocks -> [unpack]   for each panel
//                                                              --> d_values, d_bias
//
// The stream is cut into panels. Operands whose streams are contiguous are used in place; others
// are packed panel by panel, padded with zeros to whole vectors. Threads own parts (disjoint
// rows), so they share nothing and results do not depend on their number.
#pragma once

#include <span>

#include "panel_kernel.h"
#include "scratch.h"
#include "sparsejit/tensor_view.h"
#include "thread_pool.h"

namespace sparsejit {

// Which tensors these are depends on the step; see plan.h.
struct StepArguments {
  ConstTensorView gathered;
  TensorView own;
  ConstTensorView paired;
  std::span<const float> values;
  const float* start = nullptr;  // accumulate: what the sum of each row starts at
  std::span<float> d_values;     // fused, products
  std::span<float> stream_sums;  // of each gathered stream (products: each paired one), or empty
};

// `side`: the table the kernel walks. `direct`: pitch of the operands used in place, 0 for packed
// ones. `length`: floats of a stream the kernel sees; more than the batch where packing pads.
void run_step(const LoweredMask& lowered, Pass side, const PanelKernel& kernel,
              const Pitches& direct, int64_t length, const StepArguments& arguments,
              ThreadPool& pool, ScratchPool& scratch);

}  // namespace sparsejit
