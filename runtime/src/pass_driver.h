// run_step: everything between the caller's tensors and the engines' panels.
//
//     values --order--> [pack] -> kernel over parts x blocks -> [unpack]   for each slab
//                                                              --> d_values, d_bias
//
// Operands whose streams are contiguous are used in place; others are packed slab by slab (slabs.h,
// pack.h). The kernels walk a slab in panels. Threads own parts (disjoint rows), so they share
// nothing and results do not depend on their number.
#pragma once

#include <span>

#include "panel_kernel.h"
#include "scratch.h"
#include "slabs.h"
#include "sparsejit/tensor_view.h"
#include "thread_pool.h"

namespace sparsejit {

// Which operands are used in place.
struct InPlace {
  bool gathered = false;
  bool own = false;
  bool paired = false;
  bool operator==(const InPlace&) const = default;
};

// Which tensors these are depends on the step; see plan.h.
struct StepArguments {
  ConstImageView gathered;
  ImageView own;
  ConstImageView paired;
  // Of a layer with ReLU, what its forward pass wrote: the gradient of the output (gathered in
  // steps of the backward side, paired in products of the forward side) passes where it is > 0.
  ConstImageView gate;
  std::span<const float> values;
  const float* start = nullptr;  // accumulate: what the sum of each row starts at
  std::span<float> d_values;     // fused, products
  std::span<float> stream_sums;  // of each stream of the gradient of the output, or empty
};

struct StepContext {
  const LoweredLayer& lowered;
  Pass side;  // the table the kernel walks
  const PanelKernel& kernel;
  InPlace in_place;
  const Slabs& slabs;
  ThreadPool& pool;
  ScratchPool& scratch;
};

void run_step(const StepContext& context, const StepArguments& arguments);

}  // namespace sparsejit
