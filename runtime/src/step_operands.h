// StepOperands: the tensors of a step as its kernel has them, and where their streams lie.
//
//     in place   the kernel walks the tensor itself
//     packed     slab by slab, into a buffer
//     copied     into tiles or strips (tiled_panel.h, strip_panel.h): from and to the tensor itself
//                where its streams have one stride, as those of linear layers do; else from and to
//                what is packed, or used in place
#pragma once

#include "operand.h"
#include "panel_kernel.h"
#include "pass_driver.h"
#include "strided_streams.h"

namespace sparsejit {

class StepOperands {
 public:
  StepOperands(const StepContext& context, const StepArguments& arguments);

  bool any_packed() const { return gathered.packed() || own.packed() || paired.packed(); }
  // The gradient of the layer's output, in steps of the backward pass. Products of the forward side
  // pair with it, others gather from it.
  bool gradient_is_paired() const { return gradient_is_paired_; }
  const Operand& gradient() const { return gradient_is_paired_ ? paired : gathered; }

  // From position `start` of the slab on. Of plans without shifts the gathered streams have none.
  StreamSource gathered_source(const Slab& slab, int64_t start) const;
  StreamSource paired_source(const Slab& slab, int64_t start) const;
  StreamTarget target(const Slab& slab, int64_t start) const;
  PanelOperands at(const Slab& slab, int64_t start) const;

 private:
  StreamSource source_of(const Operand& operand, const Slab& slab, int64_t start) const;

  const LoweredLayer& lowered_;
  const StepArguments& arguments_;
  const Pass side_;
  const bool gradient_is_paired_;
  const bool is_unshifted_;

 public:
  const Operand gathered;
  const Operand own;
  const Operand paired;
  const Operand gate;
};

}  // namespace sparsejit
