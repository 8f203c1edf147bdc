// InspectedLayer: what is inspected, a mask and, of convolutions, its geometry and streams; and how
// its parts are called in reports.
//
//     linear        value 42 = W[3,17]        stream 17, row 3
//     convolution   value 42 = W[3,17,0,2]    channel 17, or channel 17 plane (0,1) where a stride
//                                             splits channels into planes, by (row, column) phase
//
// Plain data and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sparsejit/conv2d.h"
#include "sparsejit/layer.h"

namespace sparsejit::frontend {

struct InspectedConv {
  Conv2d conv;  // resolved
  ImageSize image;
  ConvStreams streams;
};

struct InspectedLayer {
  explicit InspectedLayer(const Mask& linear_mask);
  InspectedLayer(const Mask& conv_mask, const Conv2d& geometry, ImageSize image);

  const TapTable& of(Pass side) const { return side == Pass::forward ? forward : backward; }
  // What a kernel walks: those of some families have no shifts. Taps are the same, in the same
  // order.
  const TapTable& of(Pass side, bool without_shifts) const {
    if (!without_shifts || !conv) return of(side);
    return side == Pass::forward ? unshifted_forward : unshifted_backward;
  }
  Layer compile(const LayerOptions& options) const;

  // "W[3,17]", "W[3,17,0,2]"
  std::string weight_name(int64_t value) const;
  // Of stream or row `number`, an output's or an input's: `as_row` only changes what a linear
  // layer's are called.
  std::string output_name(int64_t number, bool as_row) const;
  std::string input_name(int64_t number, bool as_row) const;

  Mask mask;
  std::optional<InspectedConv> conv;
  TapTable forward;            // rows are outputs
  TapTable backward;           // rows are inputs
  TapTable unshifted_forward;  // of convolutions
  TapTable unshifted_backward;
};

}  // namespace sparsejit::frontend
