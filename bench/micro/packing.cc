// What changing layouts costs: the forward pass of layers with one weight an output, so that nearly
// all the time goes into packing x and unpacking y. Bytes are those of x and y, once each; compare
// with the same layer in the layout that needs no packing.
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

#include "sparsejit/sparsejit.h"

namespace sparsejit {
namespace {

constexpr int64_t kChannels = 256;

// Output i has its only weight at column i * stride.
Mask one_weight_a_row(const MaskShape& shape, int64_t stride) {
  std::vector<int64_t> row_begin(kChannels + 1);
  std::iota(row_begin.begin(), row_begin.end(), 0);
  std::vector<int64_t> columns(kChannels);
  for (int64_t row = 0; row < kChannels; ++row) columns[row] = row * stride;
  return Mask::from_csr(row_begin, columns, shape);
}

void count_floats(benchmark::State& state, size_t floats) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * floats * sizeof(float)));
}

void linear_layout(benchmark::State& state, Layout layout) {
  const int64_t batch = state.range(0);
  Runtime runtime({.threads = 1});
  const Layer layer = compile_layer(one_weight_a_row({kChannels, kChannels}, 1),
                                    {.engine = Engine::interpreted, .runtime = &runtime});
  std::vector<float> x(kChannels * batch, 1.0F);
  std::vector<float> y(kChannels * batch);
  const std::vector<float> values(kChannels, 1.0F);
  const auto view = [&](std::vector<float>& floats) {
    return layout == Layout::feature_major ? feature_major(floats.data(), batch, kChannels)
                                           : row_major(floats.data(), batch, kChannels);
  };
  for (auto _ : state) {
    layer.run_forward(view(x), values, {}, view(y));
    benchmark::ClobberMemory();
  }
  count_floats(state, x.size() + y.size());
}
BENCHMARK_CAPTURE(linear_layout, packed_row_major, Layout::row_major)->Arg(128)->Arg(960);
BENCHMARK_CAPTURE(linear_layout, feature_major_in_place, Layout::feature_major)->Arg(128)->Arg(960);

// A 3x3 convolution with padding needs zero-gapped images; a 1x1 one on NCHW needs nothing.
void conv_layout(benchmark::State& state, int64_t kernel) {
  const int64_t side = state.range(0);
  constexpr int64_t kImages = 4;
  Runtime runtime({.threads = 1});
  const Layer layer = compile_layer(
      one_weight_a_row({kChannels, kChannels, kernel, kernel}, kernel * kernel),
      Conv2d{.padding = kernel / 2}, {.engine = Engine::interpreted, .runtime = &runtime});
  std::vector<float> x(kImages * kChannels * side * side, 1.0F);
  std::vector<float> y(x.size());
  const std::vector<float> values(kChannels, 1.0F);
  for (auto _ : state) {
    layer.run_forward(nchw(x.data(), kImages, kChannels, side, side), values, {},
                      nchw(y.data(), kImages, kChannels, side, side));
    benchmark::ClobberMemory();
  }
  count_floats(state, x.size() + y.size());
}
BENCHMARK_CAPTURE(conv_layout, packed_3x3, 3)->Arg(14)->Arg(28);
BENCHMARK_CAPTURE(conv_layout, in_place_1x1, 1)->Arg(14)->Arg(28);

}  // namespace
}  // namespace sparsejit
