// See pass_steps.h.
#include "pass_steps.h"

#include <algorithm>
#include <limits>

#include "operand.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;

// Longest stream for which unrolled code takes the backward pass in two steps. Measured on Zen 5,
// 256 -> 256 with AVX-512, one step / two, GF/s: 48 floats at 90% 68 / 80, at 95% 66 / 80; 64
// floats 71 / 54 to 72 (its code takes most of L2) and 69 / 81.
int64_t longest_split(const MachineModel& machine) {
  return std::min<int64_t>(48, longest_resident(machine));
}

Step make_step(KernelKind kind, Pass side, const TensorPitches& t) {
  Step step{.kind = kind, .side = side, .direct = {}, .kernel = nullptr};
  const bool forward = side == Pass::forward;
  step.direct.gathered = forward ? t.x : t.y;
  if (kind != KernelKind::products) step.direct.own = forward ? t.y : t.dx;
  if (kind != KernelKind::accumulate) step.direct.paired = forward ? t.y : t.x;
  return step;
}

// Floats of a stream that are packed together. Many streams make shorter slabs, so that a slab of
// both sides fills about two L2s. Measured on Zen 4, batch 16, 95%, forward / backward in ms for
// slabs of 256, 512, 1024: 512 -> 512 3x3 stride 2 (2560 streams) 7.9/13.7, 7.4/11.7, 10.1/16.3;
// 2048 -> 512 1x1 7x7 2.1/3.5, 2.1/3.7, 2.8/5.9; 256 -> 256 3x3 14x14 4.3/6.5, 3.8/5.7, 4.0/5.4.
int64_t slab_target(const LoweredLayer& lowered, const MachineModel& machine) {
  const int64_t panel = longest_panel(machine);
  if (lowered.streams.grid.image_pitch() == 1) return panel;
  const int64_t streams = std::max<int64_t>(
      1, lowered.gathered_streams(Pass::forward) + lowered.own_streams(Pass::forward));
  const int64_t fitting = 2 * machine.l2_bytes / (streams * static_cast<int64_t>(sizeof(float)));
  return std::clamp(fitting, panel / 2, panel);
}

// Whether the sums of the backward pass are made in strips: all candidates agree on that, and
// passes with and without dx.
bool runs_in_strips(const PassGeometry& geometry) {
  const LoweredLayer& lowered = geometry.lowered;
  return gains_by_strips({.taps = lowered.spec.mask.nnz(),
                          .rows = lowered.own_streams(Pass::backward),
                          .streams = lowered.unshifted_streams(Pass::backward),
                          .floats = geometry.slabs.longest()},
                         geometry.machine);
}

}  // namespace

// One cut for all steps, so that all ways of a pass sum in the same order.
Slabs pass_slabs(const LoweredLayer& lowered, const PassShape& shape, const MachineModel& machine) {
  return Slabs({.grid = lowered.streams.grid,
                .images = shape.images,
                .any_in_place = any_direct(shape.direct),
                .all_in_place = all_direct(shape),
                .in_place_merged = shape.merged,
                .target = slab_target(lowered, machine)});
}

// Small images are better packed, several to a slab, than used in place one by one: code is fetched
// once a slab, and streams begin on whole vectors. Measured on Zen 4, batch 16, 95%, in place
// against packed, forward / backward in ms: 256 -> 1024 1x1 14x14 2.3/4.5 and 2.2/3.0; 1024 -> 512
// 1x1 14x14 5.2/8.2 and 4.1/5.8; at 28x28 (784 floats) forward is 20% slower packed.
void settle_layout(PassShape& shape, const LoweredLayer& lowered) {
  constexpr int64_t kMinFloatsInPlace = 256;
  if (!any_direct(shape.direct)) shape.merged = true;
  if (shape.merged || shape.images == 1) return;
  const int64_t floats = lowered.streams.grid.image_pitch();
  if (floats >= kMinFloatsInPlace && floats % kLanes == 0) return;
  shape.direct = {};
  shape.merged = true;
}

bool can_tile(const PassGeometry& geometry) {
  if (geometry.shape.pass != Pass::forward) return false;
  for (int64_t i = 0; i < geometry.slabs.count(); ++i) {
    const Slab slab = geometry.slabs.at(i);
    if (tiled_length(slab, geometry.lowered.streams.grid) < kTileFloats) return false;
  }
  return true;
}

bool can_use_table(const PassGeometry& geometry) {
  const StepStyle style{.table = true};
  const std::vector<Step> steps = pass_steps(geometry, style);
  return std::ranges::all_of(steps, [&](const Step& step) {
    return can_use_table(step_request(geometry, step, style, false), geometry.machine);
  });
}

std::vector<Step> pass_steps(const PassGeometry& geometry, const StepStyle& style) {
  const PassShape& shape = geometry.shape;
  const TensorPitches& t = shape.direct;
  if (shape.pass == Pass::forward) return {make_step(KernelKind::accumulate, Pass::forward, t)};
  if (!shape.want_d_values) return {make_step(KernelKind::accumulate, Pass::backward, t)};
  const Pass products_side = runs_in_strips(geometry) ? Pass::backward : Pass::forward;
  const Step products = make_step(KernelKind::products, products_side, t);
  if (!shape.want_dx) return {products};
  const bool split = !style.interpreted && !style.table && !geometry.lowered.has_shifts() &&
                     geometry.slabs.longest() <= longest_split(geometry.machine);
  if (split) return {make_step(KernelKind::accumulate, Pass::backward, t), products};
  return {make_step(KernelKind::fused, Pass::backward, t)};
}

// Packed operands of linear layers get the pitch of the plan, which does not depend on the batch,
// so that batches share code; images are packed close.
KernelRequest step_request(const PassGeometry& geometry, const Step& step, const StepStyle& style,
                           bool relu) {
  const LoweredLayer& lowered = geometry.lowered;
  KernelRequest request{.kind = step.kind,
                        .length = geometry.slabs.planned_length(),
                        .pitches = step.direct,
                        .interpreted = style.interpreted,
                        .repeated = geometry.slabs.count() > 1,
                        .relu = relu && geometry.shape.pass == Pass::forward,
                        .tiled = style.tiled,
                        .table = style.table};
  const StreamGrid& grid = geometry.lowered.streams.grid;
  request.strips = step.kind != KernelKind::accumulate && step.side == Pass::backward &&
                   runs_in_strips(geometry);
  if (request.strips) {
    request.pitches = {};
    return request;
  }
  if (grid.image_pitch() == 1) {
    request.own_in_tiles = style.tiled && request.pitches.own == 0;
    return request;
  }
  const int64_t longest = geometry.slabs.longest();
  const auto choose = [&](int64_t& pitch, bool gathered) {
    if (pitch == 0) pitch = stream_pitch(Operand::packed_floats(grid, longest, gathered));
    const int64_t streams = std::max<int64_t>(
        1, gathered ? lowered.gathered_streams(step.side) : lowered.own_streams(step.side));
    if (pitch > std::numeric_limits<int32_t>::max() / streams) {
      throw_error(
          "layer: {} streams of {} floats, expected at most 2^31-1 floats in all; rows of "
          "the image are too long for so many channels",
          streams, pitch);
    }
  };
  if (!style.tiled) choose(request.pitches.gathered, true);
  if (step.kind != KernelKind::products) choose(request.pitches.own, false);
  if (step.kind != KernelKind::accumulate) choose(request.pitches.paired, false);
  return request;
}

}  // namespace sparsejit
