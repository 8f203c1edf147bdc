// The networks, block by block; see suite.h.
#include "bench/suite.h"

#include <algorithm>
#include <array>

namespace sparsejit::frontend {
namespace {

constexpr int64_t kClasses = 1000;
constexpr int64_t kStages = 4;
constexpr int64_t kFirstWidth = 64;

Workload conv_layer(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t image) {
  Workload layer = linear_layer(in, out);
  layer.conv = ConvGeometry{
      .kernel = kernel, .conv = {.stride = stride, .padding = kernel / 2}, .image = {image, image}};
  return layer;
}

// Collects layers; equal ones are counted.
struct LayerList {
  std::vector<Workload> layers;

  void add(const Workload& layer) {
    const auto same = [&](Workload known) {
      known.occurrences = layer.occurrences;
      return known == layer;
    };
    const auto found = std::find_if(layers.begin(), layers.end(), same);
    if (found == layers.end()) {
      layers.push_back(layer);
    } else {
      found->occurrences += layer.occurrences;
    }
  }
};

// What a stage of a ResNet starts from, and what its blocks turn it into.
struct Block {
  int64_t in = 0;
  int64_t width = 0;  // of its 3x3
  int64_t out = 0;
  int64_t stride = 1;
  int64_t image = 0;  // at its input
};

void add_basic_block(LayerList& list, const Block& block) {
  const int64_t small = block.image / block.stride;
  list.add(conv_layer(block.in, block.width, 3, block.stride, block.image));
  list.add(conv_layer(block.width, block.out, 3, 1, small));
}

void add_bottleneck(LayerList& list, const Block& block) {
  const int64_t small = block.image / block.stride;
  list.add(conv_layer(block.in, block.width, 1, 1, block.image));
  list.add(conv_layer(block.width, block.width, 3, block.stride, block.image));
  list.add(conv_layer(block.width, block.out, 1, 1, small));
}

// `expansion`: channels of a block's output for each of its 3x3.
std::vector<Workload> list_resnet(const std::array<int64_t, kStages>& blocks, int64_t expansion,
                                  void (*add_block)(LayerList&, const Block&)) {
  LayerList list;
  Workload first = conv_layer(3, kFirstWidth, 7, 2, 224);
  first.want_dx = false;
  list.add(first);
  Block block{.in = kFirstWidth, .width = kFirstWidth, .image = 56};  // after the pooling
  for (int64_t stage = 0; stage < kStages; ++stage) {
    block.width = kFirstWidth << stage;
    block.out = block.width * expansion;
    block.stride = stage == 0 ? 1 : 2;
    for (int64_t i = 0; i < blocks[stage]; ++i) {
      add_block(list, block);
      if (block.stride != 1 || block.in != block.out) {
        list.add(conv_layer(block.in, block.out, 1, block.stride, block.image));
      }
      block.image /= block.stride;
      block.in = block.out;
      block.stride = 1;
    }
  }
  list.add(linear_layer(block.in, kClasses));
  return list.layers;
}

// Query, key, value and output projections, and the two layers of the feed-forward part.
std::vector<Workload> list_bert() {
  constexpr int64_t kEncoders = 12;
  constexpr int64_t kWidth = 768;
  std::vector<Workload> layers = {linear_layer(kWidth, kWidth), linear_layer(kWidth, 4 * kWidth),
                                  linear_layer(4 * kWidth, kWidth)};
  layers[0].occurrences = 4 * kEncoders;
  layers[1].occurrences = kEncoders;
  layers[2].occurrences = kEncoders;
  return layers;
}

std::vector<Workload> list_mlp() {
  constexpr int64_t kPixels = int64_t{28} * 28;
  constexpr int64_t kHidden = 1024;
  constexpr int64_t kDigits = 10;
  std::vector<Workload> layers = {linear_layer(kPixels, kHidden), linear_layer(kHidden, kHidden),
                                  linear_layer(kHidden, kDigits)};
  layers[0].want_dx = false;
  return layers;
}

std::vector<Workload> list_distinct_layers(Suite network) {
  switch (network) {
    case Suite::resnet18:
      return list_resnet({2, 2, 2, 2}, 1, add_basic_block);
    case Suite::resnet50:
      return list_resnet({3, 4, 6, 3}, 4, add_bottleneck);
    case Suite::bert:
      return list_bert();
    case Suite::mlp:
      return list_mlp();
    default:
      return {};
  }
}

}  // namespace

const char* to_text(Suite suite) {
  switch (suite) {
    case Suite::resnet18:
      return "resnet18";
    case Suite::resnet50:
      return "resnet50";
    case Suite::bert:
      return "bert";
    case Suite::mlp:
      return "mlp";
    case Suite::paper:
      return "paper";
    case Suite::small:
      return "small";
    case Suite::dlmc:
      return "dlmc";
  }
  return "?";
}

int64_t default_batch(Suite suite) {
  switch (suite) {
    case Suite::bert:
    case Suite::dlmc:
      return 512;
    case Suite::mlp:
      return 128;
    default:
      return 16;
  }
}

std::vector<Workload> list_network(Suite suite, int64_t batch, double sparsity) {
  std::vector<Workload> layers = list_distinct_layers(suite);
  for (Workload& layer : layers) {
    layer.batch = batch;
    layer.sparsity = sparsity;
  }
  return layers;
}

std::vector<WorkloadGrid> paper_grids() {
  const std::vector<double> sparsities = {0.8, 0.9, 0.95, 0.98, 0.99};
  // The paper's large input has 32 images; four take an eighth of the memory and are as many
  // vectors a row.
  return {{{linear_layer(768, 3072)}, {902}, sparsities},
          {{conv_layer(128, 256, 3, 1, 7)}, {8}, sparsities},
          {{conv_layer(128, 256, 3, 1, 244)}, {4}, sparsities}};
}

std::vector<WorkloadGrid> small_grids() {
  std::vector<Workload> layers;
  for (const int64_t width : {64, 128, 256, 512}) layers.push_back(linear_layer(width, width));
  return {{layers, {16, 32, 64}, {0.9, 0.95, 0.99}}};
}

bool is_inner_convolution(const Workload& workload) {
  if (!workload.conv) return false;
  const PerAxis kernel = workload.conv->kernel;
  return kernel == PerAxis(1) || kernel == PerAxis(3);
}

}  // namespace sparsejit::frontend
