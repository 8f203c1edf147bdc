// Texts to layers; see conv_options.h.
#include "bench/conv_options.h"

#include "bench/option_values.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

// The library checks shape, geometry and image against each other; the error names the option that
// the shape is from.
Workload make_conv_layer(const MaskShape& shape, const Conv2d& conv, const ConvTexts& texts,
                         const char* option, const std::string& text) {
  if (!texts.image) throw_error("--image: none given, expected HxW such as 7x7 with {}", option);
  ConvGeometry geometry;
  geometry.kernel = {shape.kernel_h, shape.kernel_w};
  geometry.image = parse_image(*texts.image, "--image");
  try {
    geometry.conv = resolve_conv2d(shape, conv);
    output_size(shape, geometry.conv, geometry.image);
  } catch (const Error& error) {
    throw_error("{}: {}, {}", option, text, error.what());
  }
  Workload layer = linear_layer(shape.in * conv.groups, shape.out);
  layer.conv = geometry;
  return layer;
}

void refuse_other(const std::string& text, const std::string& otherwise, const char* option,
                  const char* expectation) {
  if (text != otherwise) refuse(&text, option, expectation);
}

}  // namespace

void refuse_geometry(const ConvTexts& texts, const char* expectation) {
  const GeometryTexts defaults;
  refuse(typed(texts.image), "--image", expectation);
  refuse_other(texts.geometry.stride, defaults.stride, "--stride", expectation);
  refuse_other(texts.geometry.padding, defaults.padding, "--padding", expectation);
  refuse_other(texts.geometry.dilation, defaults.dilation, "--dilation", expectation);
  refuse_other(texts.geometry.groups, defaults.groups, "--groups", expectation);
}

std::vector<Workload> list_conv_layers(const ConvTexts& texts) {
  const Conv2d conv = parse_conv2d(texts.geometry);
  std::vector<Workload> layers;
  for (const std::string& text : texts.convs) {
    const MaskShape shape = parse_conv_shape(text, "--conv", conv.groups);
    layers.push_back(make_conv_layer(shape, conv, texts, "--conv", text));
  }
  return layers;
}

Workload make_smtx_conv_layer(const ConvTexts& texts, const std::string& smtx_conv,
                              const Mask& matrix) {
  const Conv2d conv = parse_conv2d(texts.geometry);
  const Mask mask = parse_smtx_conv(matrix, smtx_conv, "--smtx-conv");
  Workload layer = make_conv_layer(mask.shape(), conv, texts, "--smtx-conv", smtx_conv);
  layer.mask = mask;
  return layer;
}

}  // namespace sparsejit::frontend
