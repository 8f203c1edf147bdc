// PassShape: what a pass is compiled for: the size of its tensors, and which are used in place.
#pragma once

#include <cstdint>

#include "sparsejit/conv2d.h"
#include "sparsejit/plan.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit {

// Pitches, from channel to channel, of the tensors used in place; 0 for packed or absent ones.
struct TensorPitches {
  int64_t x = 0;
  int64_t y = 0;  // forward y, backward dy
  int64_t dx = 0;
  bool operator==(const TensorPitches&) const = default;
};

struct PassShape {
  Pass pass = Pass::forward;
  int64_t images = 0;
  ImageSize image;  // of the input
  TensorPitches direct;
  bool merged = true;    // in all tensors used in place, images of a channel are adjacent
  bool want_dx = false;  // backward
  bool want_d_values = false;
  bool operator==(const PassShape&) const = default;
};

PassShape forward_shape(const ConvStreams& streams, const ConstImageView& x, const ImageView& y);

// The tensors of a backward pass; dx may be empty.
struct BackwardTensors {
  const ConstImageView& x;
  const ConstImageView& dy;
  const ImageView& dx;
  bool want_d_values = true;
  bool gated = false;  // dy is masked by the layer's output and so cannot be used in place
};

PassShape backward_shape(const ConvStreams& streams, const BackwardTensors& tensors);

bool any_direct(const TensorPitches& pitches);
bool all_direct(const PassShape& shape);

}  // namespace sparsejit
