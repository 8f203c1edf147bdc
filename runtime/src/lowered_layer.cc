#include "lowered_layer.h"

#include <algorithm>

namespace sparsejit {
namespace {

// Sizes remembered; tables of both passes take 24 bytes a stored weight, without shifts 12 more
// each.
constexpr size_t kMaxSizes = 16;

std::array<std::vector<ShiftedPlane>, 2> shifts_of(const LayerSpec& spec,
                                                   const ConvStreams& streams) {
  if (streams.grid.halo_rows == 0 && streams.grid.halo_columns == 0) return {};
  return {shifted_planes(spec.mask.shape(), spec.conv, streams),
          shifted_gradients(spec.mask.shape(), spec.conv, streams)};
}

}  // namespace

LoweredLayer::LoweredLayer(LayerSpec s)
    : spec(std::move(s)),
      streams(plan_streams(spec.mask.shape(), spec.conv, spec.image)),
      shifted_(shifts_of(spec, streams)) {}

const TapTable& LoweredLayer::table(Pass pass) const {
  std::call_once(forward_once_, [&] { forward_ = lower_conv2d(spec.mask, spec.conv, streams); });
  if (pass == Pass::forward) return forward_;
  std::call_once(backward_once_, [&] { backward_ = transpose(forward_); });
  return backward_;
}

const TapTable& LoweredLayer::unshifted_table(Pass pass) const {
  if (!has_shifts()) return table(pass);
  TapTable& unshifted = unshifted_[index_of(pass)];
  std::call_once(unshifted_once_[index_of(pass)],
                 [&] { unshifted = unshift(table(pass), planes(pass), shifted(pass)); });
  return unshifted;
}

int64_t LoweredLayer::unshifted_streams(Pass pass) const {
  const int64_t streams_of_side = gathered_streams(pass);
  return has_shifts() ? streams_of_side / planes(pass) * std::ssize(shifted(pass))
                      : streams_of_side;
}

LoweredLayerPtr Lowerings::get(ImageSize image) {
  const std::lock_guard lock(mutex_);
  for (const LoweredLayerPtr& lowered : known_) {
    if (lowered->spec.image == image) return lowered;
  }
  if (known_.size() == kMaxSizes) known_.erase(known_.begin());
  known_.push_back(std::make_shared<const LoweredLayer>(LayerSpec{mask_, conv_, image}));
  return known_.back();
}

}  // namespace sparsejit
