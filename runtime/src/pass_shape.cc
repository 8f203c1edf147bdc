#include "pass_shape.h"

#include <array>

namespace sparsejit {
namespace {

// How one tensor can be used.
struct DirectUse {
  int64_t pitch = 0;  // 0: it must be packed
  bool merged = true;
};

// A tensor is used in place when its pixels lie as the grid wants them, without gaps. One that taps
// gather from needs zeros around its images unless no tap reaches beyond its own pixel.
DirectUse find_direct_use(const ConvStreams& streams, const StreamSide& side,
                          const ConstImageView& view, bool gathered) {
  constexpr int64_t kLanes = 8;
  constexpr int64_t kMaxReach = (int64_t{1} << 31) / sizeof(float);
  const StreamGrid& grid = streams.grid;
  if (view.empty() || view.images == 0 || view.channels == 0) return {};
  if (gathered && (grid.halo_rows != 0 || grid.halo_columns != 0)) return {};
  if (side.stride != PerAxis(1) || view.width != grid.row_pitch) return {};
  if (view.height != grid.used_rows) return {};
  if (view.width > 1 && view.pixel_stride != 1) return {};
  if (view.height > 1 && view.row_stride != view.width) return {};
  const int64_t pixels = view.height * view.width;
  DirectUse use;
  use.merged = view.images == 1 || (view.image_stride == pixels && grid.image_rows == view.height);
  if (use.merged ? view.images * pixels < kLanes : pixels < kLanes) return {};
  // The distance to the next channel does not matter when there is only one.
  const int64_t span = use.merged ? view.images * pixels : pixels;
  const int64_t pitch = view.channels == 1 ? span : view.channel_stride;
  if (pitch <= 0 || pitch > kMaxReach / view.channels - 1) return {};
  use.pitch = pitch;
  return use;
}

// The shape's pitches from the uses of x, y or dy, and dx.
void set_direct(PassShape& shape, const std::array<DirectUse, 3>& uses) {
  shape.direct = {uses[0].pitch, uses[1].pitch, uses[2].pitch};
  for (const DirectUse& use : uses) {
    if (use.pitch != 0 && !use.merged) shape.merged = false;
  }
}

PassShape shape_of(const ConstImageView& x, Pass pass) {
  PassShape shape;
  shape.pass = pass;
  shape.images = x.images;
  shape.image = {x.height, x.width};
  return shape;
}

}  // namespace

PassShape forward_shape(const ConvStreams& streams, const ConstImageView& x, const ImageView& y) {
  PassShape shape = shape_of(x, Pass::forward);
  set_direct(shape, {find_direct_use(streams, streams.source, x, true),
                     find_direct_use(streams, streams.destination, y, false), DirectUse{}});
  return shape;
}

PassShape backward_shape(const ConvStreams& streams, const BackwardTensors& tensors) {
  PassShape shape = shape_of(tensors.x, Pass::backward);
  shape.want_dx = !tensors.dx.empty();
  shape.want_d_values = tensors.want_d_values;
  DirectUse x_use;
  if (shape.want_d_values) x_use = find_direct_use(streams, streams.source, tensors.x, true);
  DirectUse dy_use;
  if (!tensors.gated) dy_use = find_direct_use(streams, streams.destination, tensors.dy, true);
  set_direct(shape, {x_use, dy_use, find_direct_use(streams, streams.source, tensors.dx, false)});
  return shape;
}

bool any_direct(const TensorPitches& pitches) {
  return pitches.x != 0 || pitches.y != 0 || pitches.dx != 0;
}

bool all_direct(const PassShape& shape) {
  const TensorPitches& t = shape.direct;
  const bool needs_x = shape.pass == Pass::forward || shape.want_d_values;
  return (!needs_x || t.x != 0) && t.y != 0 && (!shape.want_dx || t.dx != 0);
}

}  // namespace sparsejit
