// See inspected_layer.h. The shape of a linear weight is that of a 1x1 kernel, but its names stay
// short.
#include "inspect/inspected_layer.h"

#include <fmt/format.h>

#include <algorithm>

namespace sparsejit::frontend {
namespace {

InspectedConv plan_conv(const Mask& mask, const Conv2d& geometry, ImageSize image) {
  const Conv2d resolved = resolve_conv2d(mask.shape(), geometry);
  return {resolved, image, plan_streams(mask.shape(), resolved, image)};
}

}  // namespace

InspectedLayer::InspectedLayer(const Mask& linear_mask)
    : mask(linear_mask), forward(lower_linear(mask)), backward(transpose(forward)) {}

InspectedLayer::InspectedLayer(const Mask& conv_mask, const Conv2d& geometry, ImageSize image)
    : mask(conv_mask),
      conv(plan_conv(mask, geometry, image)),
      forward(lower_conv2d(mask, conv->conv, conv->streams)),
      backward(transpose(forward)),
      unshifted_forward(unshift(forward, std::ssize(conv->streams.source.planes),
                                shifted_planes(mask.shape(), conv->conv, conv->streams))),
      unshifted_backward(
          unshift(backward, 1, shifted_gradients(mask.shape(), conv->conv, conv->streams))) {}

Layer InspectedLayer::compile(const LayerOptions& options) const {
  return conv ? compile_layer(mask, conv->conv, options) : compile_layer(mask, options);
}

std::string InspectedLayer::weight_name(int64_t value) const {
  const auto begin = mask.row_begin();
  const int64_t row = std::upper_bound(begin.begin(), begin.end(), value) - begin.begin() - 1;
  const int64_t column = mask.columns()[static_cast<size_t>(value)];
  if (!conv) return fmt::format("W[{},{}]", row, column);
  const MaskShape& shape = mask.shape();
  const int64_t filter = shape.kernel_h * shape.kernel_w;
  return fmt::format("W[{},{},{},{}]", row, column / filter, column % filter / shape.kernel_w,
                     column % shape.kernel_w);
}

std::string InspectedLayer::output_name(int64_t number, bool as_row) const {
  if (conv) return fmt::format("channel {}", number);
  return fmt::format("{} {}", as_row ? "row" : "stream", number);
}

std::string InspectedLayer::input_name(int64_t number, bool as_row) const {
  if (!conv) return fmt::format("{} {}", as_row ? "row" : "stream", number);
  const auto& planes = conv->streams.source.planes;
  const auto count = static_cast<int64_t>(planes.size());
  if (count == 1) return fmt::format("channel {}", number);
  const StreamPlane& plane = planes[static_cast<size_t>(number % count)];
  return fmt::format("channel {} plane ({},{})", number / count, plane.row_phase,
                     plane.column_phase);
}

}  // namespace sparsejit::frontend
