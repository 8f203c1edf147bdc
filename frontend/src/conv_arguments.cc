// Texts to geometry and back; see conv_arguments.h. All are whole numbers separated by 'x'.
#include "conv_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "arguments.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxWeights = std::numeric_limits<int64_t>::max() / int64_t{sizeof(float)};

void require_weights(std::string_view text, std::string_view option,
                     const std::vector<int64_t>& sizes) {
  int64_t weights = 1;
  for (const int64_t size : sizes) {
    if (size > kMaxWeights / weights) {
      throw_error("{}: \"{}\" is too large, expected at most {} weights", option, text,
                  kMaxWeights);
    }
    weights *= size;
  }
}

int64_t parse_groups(std::string_view text) {
  const std::vector<int64_t> groups = split_sizes(text);
  if (groups.size() != 1 || groups[0] < 1) {
    throw_error("--groups: \"{}\" is not a whole number from 1 to {}", text, kMaxDimension);
  }
  return groups[0];
}

}  // namespace

void add_conv_options(CLI::App& app, GeometryTexts& texts) {
  const auto add = [&app](const char* name, std::string& text, const char* help) {
    app.add_option(name, text, help)->capture_default_str()->group("Convolutions");
  };
  add("--stride", texts.stride, "S or HxW");
  add("--padding", texts.padding, "zeros around the image: P, HxW, TOPxBOTTOMxLEFTxRIGHT or same");
  add("--dilation", texts.dilation, "D or HxW");
  add("--groups", texts.groups, "each sees its share of the input channels");
}

Conv2d parse_conv2d(const GeometryTexts& texts) {
  return {.stride = parse_per_axis(texts.stride, "--stride"),
          .padding = parse_padding(texts.padding, "--padding"),
          .dilation = parse_per_axis(texts.dilation, "--dilation"),
          .groups = parse_groups(texts.groups)};
}

PerAxis parse_per_axis(std::string_view text, std::string_view option) {
  const std::vector<int64_t> sizes = split_sizes(text);
  if (sizes.empty() || sizes.size() > 2 || sizes.front() < 1 || sizes.back() < 1) {
    throw_error("{}: \"{}\" is not a positive whole number or HxW, such as 2 or 2x1", option, text);
  }
  return {sizes.front(), sizes.back()};
}

Padding2d parse_padding(std::string_view text, std::string_view option) {
  if (text == "same") return Padding2d::same();
  const std::vector<int64_t> sizes = split_sizes(text);
  if (sizes.size() == 4) return {sizes[0], sizes[1], sizes[2], sizes[3]};
  if (sizes.empty() || sizes.size() > 2) {
    throw_error("{}: \"{}\" is not a padding, expected P, HxW, TOPxBOTTOMxLEFTxRIGHT or same",
                option, text);
  }
  return {sizes.front(), sizes.back()};
}

ImageSize parse_image(std::string_view text, std::string_view option) {
  const auto [height, width] = parse_shape(text, option, "HEIGHTxWIDTH");
  return {height, width};
}

MaskShape parse_conv_shape(std::string_view text, std::string_view option, int64_t groups) {
  const std::vector<int64_t> sizes = split_sizes(text);
  if (sizes.size() != 4 || *std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw_error("{}: \"{}\" is not INxOUTxKHxKW, four positive whole numbers such as 128x256x3x3",
                option, text);
  }
  require_weights(text, option, sizes);
  if (sizes[0] % groups != 0) {
    throw_error("--groups: {} does not divide the {} input channels of {} {}", groups, sizes[0],
                option, text);
  }
  return {sizes[1], sizes[0] / groups, sizes[2], sizes[3]};
}

Mask parse_smtx_conv(const Mask& matrix, std::string_view text, std::string_view option) {
  const std::vector<int64_t> sizes = split_sizes(text);
  if (sizes.size() != 3 || *std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw_error("{}: \"{}\" is not ICxKHxKW, three positive whole numbers such as 64x3x3", option,
                text);
  }
  require_weights(text, option, sizes);
  const MaskShape shape{matrix.rows(), sizes[0], sizes[1], sizes[2]};
  if (shape.cols() != matrix.cols()) {
    throw_error("{}: {} has {} weights in a row, expected {}, the columns of the mask file", option,
                text, shape.cols(), matrix.cols());
  }
  return Mask::from_channels_last(matrix, shape);
}

std::string to_text(PerAxis axes) {
  return axes.h == axes.w ? fmt::format("{}", axes.h) : fmt::format("{}x{}", axes.h, axes.w);
}

std::string to_text(const Padding2d& padding) {
  if (padding.is_same) return "same";
  if (padding.top == padding.bottom && padding.left == padding.right) {
    return to_text(PerAxis(padding.top, padding.left));
  }
  return fmt::format("{}x{}x{}x{}", padding.top, padding.bottom, padding.left, padding.right);
}

std::string to_text(ImageSize image) { return fmt::format("{}x{}", image.height, image.width); }

std::string to_text(const Conv2d& conv) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (conv.stride != PerAxis(1)) add("stride", to_text(conv.stride));
  if (conv.padding != Padding2d(0)) add("padding", to_text(conv.padding));
  if (conv.dilation != PerAxis(1)) add("dilation", to_text(conv.dilation));
  if (conv.groups != 1) add("groups", fmt::format("{}", conv.groups));
  return text;
}

}  // namespace sparsejit::frontend
