#include "step_operands.h"

namespace sparsejit {
namespace {

// How a step uses one of its tensors.
struct OperandUse {
  bool of_source = false;  // the tensor is the layer's input, or its gradient
  int64_t pitch = 0;
  bool in_place = false;
  bool gathered = false;
  bool copied = false;
  bool gated = false;  // zeroed here and there, so the kernel never sees the tensor itself
};

Operand::Options options(const StepContext& context, const OperandUse& use) {
  const ConvStreams& streams = context.lowered.streams;
  const StreamGrid& grid = streams.grid;
  const bool from_tensor = use.copied && !use.gated && grid.image_pitch() == 1;
  const int64_t packed = Operand::packed_floats(grid, context.slabs.longest(), use.gathered);
  return {.side = use.of_source ? streams.source : streams.destination,
          .grid = grid,
          .pitch = use.copied ? stream_pitch(packed) : use.pitch,
          .in_place = use.in_place || from_tensor,
          .gathered = use.gathered};
}

Operand::Options gathered_options(const StepContext& context, bool gated) {
  const Plan& plan = context.kernel.plan();
  return options(context, {.of_source = context.side == Pass::forward,
                           .pitch = plan.pitches.gathered,
                           .in_place = context.in_place.gathered,
                           .gathered = true,
                           .copied = plan.unshifted(),
                           .gated = gated});
}

Operand::Options own_options(const StepContext& context) {
  const Plan& plan = context.kernel.plan();
  return options(context, {.of_source = context.side == Pass::backward,
                           .pitch = plan.pitches.own,
                           .in_place = context.in_place.own,
                           .copied = plan.own_in_tiles || plan.family == KernelFamily::strip});
}

Operand::Options paired_options(const StepContext& context) {
  const Plan& plan = context.kernel.plan();
  return options(context, {.of_source = context.side == Pass::backward,
                           .pitch = plan.pitches.paired,
                           .in_place = context.in_place.paired,
                           .copied = plan.family == KernelFamily::strip});
}

}  // namespace

StepOperands::StepOperands(const StepContext& context, const StepArguments& arguments)
    : lowered_(context.lowered),
      arguments_(arguments),
      side_(context.side),
      gradient_is_paired_(context.side == Pass::forward &&
                          context.kernel.plan().kind == KernelKind::products),
      is_unshifted_(context.kernel.plan().unshifted()),
      gathered(arguments.gathered, gathered_options(context, !arguments.gate.empty()),
               context.scratch),
      own(arguments.own, own_options(context), context.scratch),
      paired(arguments.paired, paired_options(context), context.scratch),
      gate(arguments.gate,
           options(context, {.pitch = gradient().pitch(), .gathered = !gradient_is_paired_}),
           context.scratch) {}

StreamSource StepOperands::source_of(const Operand& operand, const Slab& slab,
                                     int64_t start) const {
  if (operand.packed()) return {operand.at(slab, start), operand.pitch(), 1};
  const ConstImageView& view = operand.view();
  if (lowered_.streams.grid.image_pitch() != 1) {
    return {operand.at(slab, start), view.channel_stride, 1};
  }
  return {view.data + (slab.first_image + start) * view.image_stride, view.channel_stride,
          view.image_stride};
}

StreamSource StepOperands::gathered_source(const Slab& slab, int64_t start) const {
  StreamSource source = source_of(gathered, slab, start);
  if (!is_unshifted_) return source;
  source.shifted = lowered_.shifted(side_);
  source.planes = lowered_.planes(side_);
  return source;
}

StreamSource StepOperands::paired_source(const Slab& slab, int64_t start) const {
  return source_of(paired, slab, start);
}

StreamTarget StepOperands::target(const Slab& slab, int64_t start) const {
  const StreamSource source = source_of(own, slab, start);
  return {const_cast<float*>(source.data), source.stream_stride, source.float_stride};
}

PanelOperands StepOperands::at(const Slab& slab, int64_t start) const {
  return {.gathered = gathered.at(slab, start),
          .own = const_cast<float*>(own.at(slab, start)),
          .paired = paired.at(slab, start),
          .values = arguments_.values.data(),
          .start = arguments_.start,
          .d_values = arguments_.d_values.data()};
}

}  // namespace sparsejit
