// run_pass: everything between the caller's tensors and the engines' panels.
//
//     values --order--> [pack] -> kernel over parts x blocks -> [unpack]   for each panel
//                                                              --> d_values, d_bias
//
// The stream is cut into a main segment, run by the chosen engine in panels, and, where operands
// are used in place, a remainder of fewer than eight lanes. The remainder is packed into a tile of
// eight lanes a stream and always interpreted: code for it would run once per call, which never
// pays. Threads own parts (disjoint rows), so they share nothing and results do not depend on
// their number.
#pragma once

#include <span>

#include "panel_kernel.h"
#include "scratch.h"
#include "sparsejit/tensor_view.h"
#include "thread_pool.h"

namespace sparsejit {

// Forward: gathered = x, own = y. Backward: gathered = dy, own = dx (or empty), paired = x.
struct PassArguments {
  ConstTensorView gathered;
  TensorView own;
  ConstTensorView paired;
  std::span<const float> values;
  const float* bias = nullptr;  // forward: one a row, never null
  std::span<float> d_values;
  std::span<float> d_bias;  // backward: one a gathered stream, or empty
};

struct PassKernels {
  const PanelKernel* main = nullptr;
  const PanelKernel* remainder = nullptr;  // null when there is no remainder
  int64_t main_length = 0;                 // a multiple of the lanes
  Pitches direct;                          // pitch of operands used in place, 0: packed
};

void run_pass(const LoweredMask& lowered, const PassKernels& kernels,
              const PassArguments& arguments, ThreadPool& pool, ScratchPool& scratch);

}  // namespace sparsejit
