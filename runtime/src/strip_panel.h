// StripPanel: one strip of all streams (strips.h) for kernels of the strip family.
//
//     for each strip of a slab, each thread for the rows of its parts:
//         x -> strips; dx = 0
//         for each block:  dy of the block -> strips, which stay in L1;  kernel
//         strips -> dx, which products do without
//
// With several threads all blocks of dy are packed first, a share each, instead of by every thread.
// Whatever layout the tensors have, and the shifts of convolutions, end here.
#pragma once

#include <span>

#include "panel_kernel.h"
#include "scratch.h"
#include "strided_streams.h"

namespace sparsejit {

struct StripOperands {
  StreamSource gathered;
  StreamSource paired;
  StreamTarget own;
  std::span<const float> values;  // in the plan's order
  std::span<float> d_values;      // added to
  // Of the gathered streams, added to or, in the first strip, stored; empty: not asked for.
  std::span<float> stream_sums;
  bool first = false;
  int64_t floats = 0;  // of the strip
  int64_t valid = 0;   // of these, what the tensors have; zeros follow
};

class StripPanel {
 public:
  // `streams`: gathered.
  StripPanel(const PanelKernel& kernel, int64_t streams, int threads, ScratchPool& scratch);

  // Whether pack_gathered() has to be called for all streams before run().
  bool packs_ahead() const { return packs_ahead_; }
  void pack_gathered(const StripOperands& operands, int64_t first, int64_t last) const;
  void run(const StripOperands& operands, int32_t first_part, int32_t last_part) const;

 private:
  bool has_own() const { return plan_.kind == KernelKind::fused; }
  float* block_strips(int32_t block) const;

  const PanelKernel& kernel_;
  const Plan& plan_;
  const int64_t streams_;
  const bool packs_ahead_;
  ScratchPool::Buffer gathered_;  // of one block, or all
  ScratchPool::Buffer paired_;    // of all rows
  ScratchPool::Buffer own_;
};

}  // namespace sparsejit
