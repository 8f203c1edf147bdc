// run_pass: everything between the caller's tensors and the engines' panels.
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

// `direct`: pitch of the operands used in place, 0 for packed ones. `kernel` was planned for these
// and for the length of stream_length().
void run_pass(const LoweredMask& lowered, const PanelKernel& kernel, const Pitches& direct,
              const PassArguments& arguments, ThreadPool& pool, ScratchPool& scratch);

// Floats of a stream the kernel sees: the batch where any operand is used in place, else rounded
// up to whole vectors.
int64_t stream_length(int64_t batch, const Pitches& direct);

}  // namespace sparsejit
