#include "lowered_layer.h"

#include <algorithm>

namespace sparsejit {
namespace {

// Sizes remembered; tables of both passes take 24 bytes a stored weight.
constexpr size_t kMaxSizes = 16;

}  // namespace

const TapTable& LoweredLayer::table(Pass pass) const {
  std::call_once(forward_once_, [&] { forward_ = lower_conv2d(spec.mask, spec.conv, streams); });
  if (pass == Pass::forward) return forward_;
  std::call_once(backward_once_, [&] { backward_ = transpose(forward_); });
  return backward_;
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
