// Options to layers; see architecture.h.
#include "train/architecture.h"

#include <fmt/format.h>

#include "conv_arguments.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kKernel = 3;
constexpr int64_t kPadding = 1;  // keeps the size of the image at stride 1

void require_net(const std::vector<int64_t>& given, const char* option, Net net, Net suited) {
  if (!given.empty() && net != suited) {
    throw_error("{}: has no effect with --net {}; expected --net {}", option, to_text(net),
                to_text(suited));
  }
}

void require_size(const char* option, int64_t rows, int64_t cols, const char* what) {
  if (rows > kMaxPositions / cols) {
    throw_error("{}: {} {} on {} inputs are too many; expected at most {} weights", option, rows,
                what, cols, kMaxPositions);
  }
}

LayerSpec linear(int64_t out, int64_t in) { return {.shape = {out, in}}; }

std::vector<LayerSpec> plan_linear_layers(const TrainOptions& options, int64_t features) {
  std::vector<LayerSpec> layers;
  int64_t inputs = features;
  for (const int64_t width : options.hidden.empty() ? kDefaultHidden : options.hidden) {
    require_size("--hidden", width, inputs, "units");
    layers.push_back(linear(width, inputs));
    inputs = width;
  }
  return layers;
}

int64_t default_stride(size_t layer) { return layer % 2 == 1 ? 2 : 1; }

std::vector<LayerSpec> plan_convolutions(const TrainOptions& options, ImageSize image) {
  const std::vector<int64_t>& channels =
      options.channels.empty() ? kDefaultChannels : options.channels;
  if (channels.size() < 2) {
    throw_error("--channels: {} is a single convolution, which stays full; expected two or more",
                channels[0]);
  }
  if (!options.strides.empty() && options.strides.size() != channels.size()) {
    throw_error("--strides: {} strides; expected {}, one for each convolution of --channels {}",
                options.strides.size(), channels.size(), fmt::join(channels, ","));
  }
  std::vector<LayerSpec> layers;
  int64_t inputs = 1;
  for (size_t i = 0; i < channels.size(); ++i) {
    require_size("--channels", channels[i], inputs * kKernel * kKernel, "channels");
    LayerSpec layer{
        .shape = {channels[i], inputs, kKernel, kKernel},
        .is_conv2d = true,
        .conv = {.stride = options.strides.empty() ? default_stride(i) : options.strides[i],
                 .padding = kPadding},
        .input = image,
        .pruned = i > 0};
    image = output_size(layer.shape, layer.conv, image);
    layer.output = image;
    layers.push_back(layer);
    inputs = channels[i];
  }
  return layers;
}

}  // namespace

std::vector<LayerSpec> plan_layers(const TrainOptions& options, ImageSize image) {
  require_net(options.hidden, "--hidden", options.net, Net::mlp);
  require_net(options.channels, "--channels", options.net, Net::cnn);
  require_net(options.strides, "--strides", options.net, Net::cnn);
  std::vector<LayerSpec> layers = options.net == Net::cnn
                                      ? plan_convolutions(options, image)
                                      : plan_linear_layers(options, image.height * image.width);
  LayerSpec classifier = linear(options.classes, layers.back().shape.out);
  classifier.input = layers.back().output;
  classifier.relu = false;
  classifier.pruned = false;
  layers.push_back(classifier);
  return layers;
}

std::string to_text(const std::vector<LayerSpec>& layers) {
  const LayerSpec& first = layers.front();
  std::string text = first.is_conv2d ? to_text(first.input) : fmt::format("{}", first.shape.in);
  for (const LayerSpec& layer : layers) {
    if (layer.is_conv2d) {
      text += fmt::format(" - {} of {}", layer.shape.out, to_text(layer.output));
      continue;
    }
    const bool pooled = first.is_conv2d;
    text +=
        pooled ? fmt::format(" - mean - {}", layer.shape.out) : fmt::format("-{}", layer.shape.out);
  }
  return text;
}

}  // namespace sparsejit::frontend
