// Conv2d: the geometry of a 2-D convolution, and how its pixels become streams.
//
//     y[n][oc][p][q] = sum over ic, i, j of
//         w[oc][ic][i][j] * x[n][ic][p * stride.h + i * dilation.h - padding.top][q * ... ]
//
// Streams. Pixels of one channel are laid out row after row with `row_pitch` floats from row to row
// and image after image with `image_rows` rows each. The rest of a row, and the rest of the rows of
// an image, are zeros: they are the padding of what comes before and after them at once, so a tap
// is a shift by a constant and needs no test for borders.
//
//     3x3, padding 1, two 2x2 images:      a b 0 | c d 0 | 0 0 0 | e f 0 | g h 0 | 0 0 0
//     row_pitch 3, image_rows 3            tap (i, j): shift (i - 1) * 3 + (j - 1)
//
// With a stride the input is split into planes, one a phase (row % stride.h, column % stride.w):
// inside a plane every tap is a shift again. Input and output use the same grid, so that output
// position t and input position t + shift meet. What lies in gaps of an output is never used.
//
// A linear layer is the special case of a 1x1 convolution over `batch` images of one pixel.
//
// Everything here is pure. Errors: Error, naming the value, for geometry that cannot be.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "sparsejit/mask.h"
#include "sparsejit/taps.h"

namespace sparsejit {

// One number for both axes, or one for each.
struct PerAxis {
  int64_t h = 1;
  int64_t w = 1;
  constexpr PerAxis(int64_t both) : h(both), w(both) {}
  constexpr PerAxis(int64_t height, int64_t width) : h(height), w(width) {}
  bool operator==(const PerAxis&) const = default;
};

// Zeros around the input, in pixels: on all sides, by axis, or each side. Padding larger than the
// kernel is legal. `same()` keeps the size of the image (stride 1 only): dilation * (kernel - 1)
// in all, the odd one at the bottom and right, as in PyTorch.
struct Padding2d {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
  bool is_same = false;
  constexpr Padding2d(int64_t all = 0) : top(all), bottom(all), left(all), right(all) {}
  constexpr Padding2d(int64_t height, int64_t width)
      : top(height), bottom(height), left(width), right(width) {}
  constexpr Padding2d(int64_t t, int64_t b, int64_t l, int64_t r)
      : top(t), bottom(b), left(l), right(r) {}
  static constexpr Padding2d same() {
    Padding2d padding;
    padding.is_same = true;
    return padding;
  }
  bool operator==(const Padding2d&) const = default;
};

struct Conv2d {
  PerAxis stride = 1;
  Padding2d padding = 0;
  PerAxis dilation = 1;
  int64_t groups = 1;
  bool operator==(const Conv2d&) const = default;
};

struct ImageSize {
  int64_t height = 1;
  int64_t width = 1;
  bool operator==(const ImageSize&) const = default;
};

// Checks everything that does not depend on the image and returns the geometry with 'same' padding
// replaced by numbers.
Conv2d resolve_conv2d(const MaskShape& shape, const Conv2d& conv);

// `conv` is resolved. Throws when the output would be empty.
ImageSize output_size(const MaskShape& shape, const Conv2d& conv, ImageSize input);

// One plane of a channel: pixels (row * stride.h + row_phase, column * stride.w + column_phase).
struct StreamPlane {
  int64_t row_phase = 0;
  int64_t column_phase = 0;
  int64_t rows = 1;  // of pixels that some output reads; the rest of the grid is zero
  int64_t columns = 1;
  bool operator==(const StreamPlane&) const = default;
};

// How the images of one tensor become streams: stream = channel * planes.size() + plane.
struct StreamSide {
  ImageSize size;      // of an image
  PerAxis stride = 1;  // between pixels of a plane
  std::vector<StreamPlane> planes;
  bool operator==(const StreamSide&) const = default;
};

struct StreamGrid {
  int64_t row_pitch = 1;   // floats from row to row
  int64_t image_rows = 1;  // rows from image to image
  int64_t used_rows = 1;   // of an image, on either side
  int64_t used_columns = 1;
  int64_t halo_rows = 0;     // largest distance, in rows, of a tap's input from its output
  int64_t halo_columns = 0;  // the same in columns
  bool operator==(const StreamGrid&) const = default;

  int64_t image_pitch() const { return image_rows * row_pitch; }
  // Floats from the first pixel to the last one of `images` images, of `rows` rows each.
  int64_t length(int64_t images, int64_t rows) const {
    return (images - 1) * image_pitch() + (rows - 1) * row_pitch + used_columns;
  }
};

struct ConvStreams {
  StreamGrid grid;
  StreamSide source;
  StreamSide destination;
  bool operator==(const ConvStreams&) const = default;
};

// `conv` is resolved.
ConvStreams plan_streams(const MaskShape& shape, const Conv2d& conv, ImageSize input);

// Streams of the input: one for each channel and plane.
int64_t source_streams(const MaskShape& shape, const Conv2d& conv, const ConvStreams& streams);

// Destination row = output channel, stream = source plane; `streams` as planned for this mask.
TapTable lower_conv2d(const Mask& mask, const Conv2d& conv, const ConvStreams& streams);

// What one position of the kernel reads of a channel: float t is float t + shift of the plane.
struct ShiftedPlane {
  int32_t plane = 0;
  int32_t shift = 0;
  bool operator==(const ShiftedPlane&) const = default;
  // In the order of taps.
  bool operator<(const ShiftedPlane& other) const {
    return std::tie(plane, shift) < std::tie(other.plane, other.shift);
  }
};

// All positions of the kernel, each once, in the order of taps.
std::vector<ShiftedPlane> shifted_planes(const MaskShape& shape, const Conv2d& conv,
                                         const ConvStreams& streams);
// The same for taps by source, which gather from the one plane of each output channel.
std::vector<ShiftedPlane> shifted_gradients(const MaskShape& shape, const Conv2d& conv,
                                            const ConvStreams& streams);

// The taps of lower_conv2d, or its transposition, without shifts, in the same order: a stream for
// each shifted plane of each channel, stream = channel * shifted.size() + index into `shifted`.
// `planes`: of a channel.
TapTable unshift(const TapTable& table, int64_t planes, const std::vector<ShiftedPlane>& shifted);

}  // namespace sparsejit
