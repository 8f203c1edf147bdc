// Texts to geometry; see conv_options.h.
#include "bench/conv_options.h"

#include "bench/option_values.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxSize = int64_t{1}
                             << 24;  // of an axis, as the library's own limit; also channels

PerAxis parse_per_axis(const std::optional<std::string>& text, const char* option, int64_t smallest,
                       PerAxis otherwise) {
  if (!text) return otherwise;
  if (text->find('x') == std::string::npos) {
    return PerAxis(parse_whole_number(*text, option, smallest, kMaxSize));
  }
  const std::vector<int64_t> numbers = parse_product(*text, option, "HxW", smallest, kMaxSize);
  return {numbers[0], numbers[1]};
}

Padding2d parse_padding(const std::optional<std::string>& text, PerAxis stride) {
  constexpr const char* kOption = "--padding";
  if (text != "same") {
    const PerAxis padding = parse_per_axis(text, kOption, 0, 0);
    return {padding.h, padding.w};
  }
  if (stride != PerAxis(1)) {
    throw_error("{}: same with --stride {}, expected a stride of 1", kOption, to_text(stride));
  }
  return Padding2d::same();
}

int64_t parse_groups(const ConvTexts& texts, int64_t out) {
  const int64_t groups =
      texts.groups ? parse_whole_number(*texts.groups, "--groups", 1, kMaxSize) : 1;
  if (out % groups != 0) {
    throw_error("--groups: {}, expected a divisor of the {} output channels", groups, out);
  }
  return groups;
}

ImageSize parse_image(const ConvTexts& texts) {
  if (!texts.image) throw_error("--image: none given, expected HxW such as 7x7");
  const std::vector<int64_t> numbers = parse_product(*texts.image, "--image", "HxW", 1, kMaxSize);
  return {numbers[0], numbers[1]};
}

void validate_image(const MaskShape& shape, const ConvGeometry& geometry) {
  const Conv2d& conv = geometry.conv;
  const int64_t rows = conv.dilation.h * (shape.kernel_h - 1) + 1;
  const int64_t columns = conv.dilation.w * (shape.kernel_w - 1) + 1;
  const int64_t height = geometry.image.height + conv.padding.top + conv.padding.bottom;
  const int64_t width = geometry.image.width + conv.padding.left + conv.padding.right;
  if (height < rows || width < columns) {
    throw_error("--image: {} with its padding is {}x{}, expected at least the {}x{} of the kernel",
                to_text(geometry.image), height, width, rows, columns);
  }
}

Workload make_layer_of(const ConvTexts& texts, const MaskShape& shape, int64_t groups) {
  const double columns = static_cast<double>(shape.in) * static_cast<double>(shape.kernel_h) *
                         static_cast<double>(shape.kernel_w);
  if (columns > INT32_MAX) {
    throw_error("--conv: {} weights for each output channel, expected at most {}", columns,
                INT32_MAX);
  }
  ConvGeometry geometry;
  geometry.kernel = {shape.kernel_h, shape.kernel_w};
  geometry.conv.stride = parse_per_axis(texts.stride, "--stride", 1, 1);
  geometry.conv.padding = parse_padding(texts.padding, geometry.conv.stride);
  geometry.conv.dilation = parse_per_axis(texts.dilation, "--dilation", 1, 1);
  geometry.conv.groups = groups;
  geometry.conv = resolve_conv2d(shape, geometry.conv);
  geometry.image = parse_image(texts);
  validate_image(shape, geometry);
  Workload layer = linear_layer(shape.in * groups, shape.out);
  layer.conv = geometry;
  return layer;
}

}  // namespace

void ConvTexts::refuse_geometry(const char* expectation) const {
  refuse(typed(image), "--image", expectation);
  refuse(typed(stride), "--stride", expectation);
  refuse(typed(padding), "--padding", expectation);
  refuse(typed(dilation), "--dilation", expectation);
  refuse(typed(groups), "--groups", expectation);
}

std::vector<Workload> parse_convs(const ConvTexts& texts) {
  std::vector<Workload> layers;
  for (const std::string& text : texts.convs) {
    const std::vector<int64_t> sizes = parse_product(text, "--conv", "INxOUTxKHxKW", 1, kMaxSize);
    const int64_t groups = parse_groups(texts, sizes[1]);
    if (sizes[0] % groups != 0) {
      throw_error("--groups: {}, expected a divisor of the {} input channels", groups, sizes[0]);
    }
    layers.push_back(
        make_layer_of(texts, {sizes[1], sizes[0] / groups, sizes[2], sizes[3]}, groups));
  }
  return layers;
}

Workload parse_smtx_conv(const ConvTexts& texts, const std::string& smtx_conv, const Mask& matrix) {
  const std::vector<int64_t> sizes =
      parse_product(smtx_conv, "--smtx-conv", "ICxKHxKW", 1, kMaxSize);
  const MaskShape shape{matrix.rows(), sizes[0], sizes[1], sizes[2]};
  if (static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) *
          static_cast<double>(sizes[2]) !=
      static_cast<double>(matrix.cols())) {
    throw_error("--smtx-conv: {}, expected a product of {}, the columns of --mask", smtx_conv,
                matrix.cols());
  }
  Workload layer = make_layer_of(texts, shape, parse_groups(texts, shape.out));
  layer.mask = Mask::from_channels_last(matrix, shape);
  return layer;
}

}  // namespace sparsejit::frontend
