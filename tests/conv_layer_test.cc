// Convolution layers: what is refused, changes of the mask, ReLU, NaN, compiling ahead.
#include <gtest/gtest.h>

#include <limits>

#include "support/conv_case.h"
#include "support/expect_error.h"
#include "support/plain_sgemm.h"
#include "support/random.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ConvLayer, WrongTensorsAreNamed) {
  const Mask mask = Mask::random({2, 3, 3, 3}, 0.5, 1);
  const Layer layer = compile_layer(mask, Conv2d{.padding = 1});
  const std::vector<float> values(mask.nnz(), 1.0F);
  std::vector<float> memory(2 * 3 * 8 * 8, 1.0F);
  std::vector<float> y(2 * 2 * 8 * 8, 77.0F);
  const auto forward = [&](int64_t n, int64_t c, int64_t h, const ImageView& to) {
    layer.run_forward(nchw<const float>(memory.data(), n, c, h, 8), values, {}, to);
  };
  const ImageView good = nchw(y.data(), 2, 2, 8, 8);
  expect_error([&] { forward(2, 4, 8, good); }, {"x", "(2, 4, 8, 8)", "(2, 3, 8, 8)"});
  expect_error([&] { forward(1, 3, 8, good); }, {"y", "(2, 2, 8, 8)", "(1, 2, 8, 8)"});
  expect_error([&] { forward(2, 3, 7, good); }, {"y", "(2, 2, 7, 8)"});
  expect_error([&] { forward(2, 3, 0, good); }, {"0x8"});
  ImageView overlapping = good;
  overlapping.channel_stride = 63;
  expect_error([&] { forward(2, 3, 8, overlapping); }, {"y", "share memory"});
  overlapping = good;
  overlapping.image_stride = 0;
  expect_error([&] { forward(2, 3, 8, overlapping); }, {"y", "share memory"});
  expect_error([&] { forward(2, 3, 8, nchw(memory.data(), 2, 2, 8, 8)); }, {"y", "x"});
  expect_error(
      [&] {
        layer.run_forward(row_major<const float>(memory.data(), 2, 3), values, {},
                          row_major(y.data(), 2, 2));
      },
      {"2 dimensions", "4", "convolution"});
  EXPECT_EQ(y, std::vector<float>(y.size(), 77.0F));
}

TEST(ConvLayer, LinearAndConvolutionAreNotConfused) {
  expect_error([] { compile_layer(Mask::random({2, 3, 3, 3}, 0.5, 1)); }, {"3x3", "Conv2d"});
  const Layer linear = compile_layer(Mask::random({2, 3}, 0.5, 1));
  EXPECT_FALSE(linear.is_conv2d());
  std::vector<float> floats(100);
  const std::vector<float> values(3);
  expect_error(
      [&] {
        linear.run_forward(nchw<const float>(floats.data(), 1, 3, 2, 2), values, {},
                           nchw(floats.data() + 50, 1, 2, 2, 2));
      },
      {"4 dimensions", "linear"});
  EXPECT_TRUE(compile_layer(Mask::random({2, 3}, 0.5, 1), Conv2d{}).is_conv2d());
}

TEST(ConvLayer, ReluNeedsTheOutput) {
  const Mask mask = Mask::random({2, 3, 3, 3}, 0.5, 1);
  LayerOptions options;
  options.relu = true;
  const Layer layer = compile_layer(mask, Conv2d{.padding = 1}, options);
  std::vector<float> x(3 * 64), dy(2 * 64), dx(3 * 64), values(27), d_values(27);
  expect_error(
      [&] {
        layer.run_backward(nchw<const float>(x.data(), 1, 3, 8, 8),
                           nchw<const float>(dy.data(), 1, 2, 8, 8), values,
                           nchw(dx.data(), 1, 3, 8, 8), d_values, {});
      },
      {"y", "ReLU", "(1, 2, 8, 8)"});
}

// A ReLU layer is the layer without it and max(0, y) after it, bit for bit; its backward pass that
// layer's with dy masked.
TEST(ReluLayer, EqualsALayerAndReluAfterIt) {
  const Mask mask = Mask::random({37, 51}, 0.8, 1);
  Runtime runtime(with_sgemm(2));
  for (const Engine engine : linear_engines()) {
    LayerOptions options;
    options.engine = engine;
    options.runtime = &runtime;
    const Layer plain = compile_layer(mask, options);
    options.relu = true;
    const Layer relu = compile_layer(mask, options);
    for (const int64_t batch : {1, 7, 8, 16, 33, 72, 150, 1100}) {
      const LayerInputs in = random_inputs(mask, batch, true, batch);
      std::vector<float> y(37 * batch), expected(37 * batch), masked = in.dy;
      const auto x = feature_major<const float>(in.x.data(), batch, 51);
      plain.run_forward(x, in.values, in.bias, feature_major(expected.data(), batch, 37));
      relu.run_forward(x, in.values, in.bias, feature_major(y.data(), batch, 37));
      for (size_t i = 0; i < y.size(); ++i) {
        expected[i] = std::max(expected[i], 0.0F);
        if (y[i] <= 0) masked[i] = 0;
      }
      EXPECT_EQ(y, expected) << to_text(engine) << " batch " << batch;
      LayerOutputs got{{},
                       std::vector<float>(in.x.size()),
                       std::vector<float>(mask.nnz()),
                       std::vector<float>(37)};
      LayerOutputs wanted = got;
      // Packed in both, so that the streams are as long and the sums in the same order.
      relu.run_backward(x, feature_major<const float>(in.dy.data(), batch, 37), in.values,
                        feature_major(got.dx.data(), batch, 51), got.d_values, got.d_bias,
                        feature_major<const float>(y.data(), batch, 37));
      plain.run_backward(x, feature_major<const float>(masked.data(), batch, 37), in.values,
                         feature_major(wanted.dx.data(), batch, 51), wanted.d_values,
                         wanted.d_bias);
      EXPECT_EQ(got.dx, wanted.dx) << to_text(engine) << " batch " << batch;
      for (size_t i = 0; i < got.d_values.size(); ++i) {
        EXPECT_NEAR(got.d_values[i], wanted.d_values[i], 1e-4 * batch);
      }
    }
  }
}

TEST(ReluLayer, KeepsNan) {
  const Mask mask = Mask::random({3, 2}, 0, 1);
  Runtime runtime(with_sgemm());
  for (const Engine engine : linear_engines()) {
    LayerOptions options;
    options.runtime = &runtime;
    options.engine = engine;
    options.relu = true;
    const Layer layer = compile_layer(mask, options);
    const std::vector<float> values(6, 1.0F);
    for (const int64_t batch : {3, 16, 100}) {
      std::vector<float> x(2 * batch, -1.0F), y(3 * batch);
      x[2] = kNan;
      layer.run_forward(feature_major<const float>(x.data(), batch, 2), values, {},
                        feature_major(y.data(), batch, 3));
      for (int64_t i = 0; i < 3 * batch; ++i) {
        EXPECT_TRUE(i % batch == 2 ? std::isnan(y[i]) : y[i] == 0.0F) << i;
      }
    }
  }
}

// Several blocks of sources: rows without taps in the last block get their ReLU all the same.
TEST(ReluLayer, ReachesRowsWithoutTapsInTheLastBlock) {
  MachineModel small = detect_machine();
  small.l2_bytes = 16 << 10;
  Runtime runtime(with_machine(small, 2));
  std::vector<uint8_t> dense(20 * 1500, 0);
  for (int64_t row = 0; row < 20; ++row) {
    for (int64_t c = 0; c < 100; ++c) dense[row * 1500 + (row % 2 == 0 ? c : 1400 + c)] = 1;
  }
  const Mask mask = Mask::from_dense(dense, {20, 1500});
  for (const Engine engine : available_engines()) {
    LayerOptions options;
    options.engine = engine;
    options.relu = true;
    options.runtime = &runtime;
    const Layer layer = compile_layer(mask, options);
    const std::vector<float> values(mask.nnz(), -1.0F);
    const std::vector<float> x(1500 * 300, 1.0F);
    std::vector<float> y(20 * 300, kNan);
    layer.run_forward(feature_major<const float>(x.data(), 300, 1500), values, {},
                      feature_major(y.data(), 300, 20));
    EXPECT_EQ(y, std::vector<float>(20 * 300, 0.0F)) << to_text(engine);
    if (engine != Engine::portable) {
      EXPECT_GT(layer.report().front().plans.front().blocks, 1) << layer.explain();
    }
  }
}

TEST(ConvLayer, NanReachesOnlyWhatStoredWeightsRead) {
  std::vector<uint8_t> dense(2 * 2 * 9, 0);
  dense[4] = 1;           // output 0 reads the pixel itself of channel 0
  dense[18 + 9 + 4] = 1;  // output 1 that of channel 1
  const Mask mask = Mask::from_dense(dense, {2, 2, 3, 3});
  for (const Engine engine : available_engines()) {
    LayerOptions options;
    options.engine = engine;
    const Layer layer = compile_layer(mask, Conv2d{.padding = 1}, options);
    std::vector<float> x(2 * 2 * 25, 1.0F), y(2 * 2 * 25);
    x[25 + 12] = kNan;  // image 0, channel 1
    layer.run_forward(nchw<const float>(x.data(), 2, 2, 5, 5), std::vector<float>{1, 2}, {},
                      nchw(y.data(), 2, 2, 5, 5));
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(std::isnan(y[i]), i == 25 + 12) << to_text(engine) << " " << i;
    }
  }
}

TEST(ConvLayer, MaskChangesKeepValuesAndResults) {
  Runtime runtime(with_threads(2));
  for (const Engine engine : available_engines()) {
    ConvCase c{.mask = Mask::random({16, 12, 3, 3}, 0.7, 1),
               .conv = {.stride = 2, .padding = 1},
               .images = 3,
               .size = {11, 9}};
    Layer layer = forced_conv(c, engine, runtime);
    expect_matches_reference(c, run_conv(layer, c));
    for (uint64_t seed = 2; seed < 6; ++seed) {
      c.mask = Mask::random({16, 12, 3, 3}, 0.5 + 0.1 * static_cast<double>(seed), seed);
      const MaskChange change = layer.set_mask(c.mask);
      EXPECT_TRUE(change.changed());
      EXPECT_EQ(change.kernels_generated > 0, engine == Engine::native);
      expect_matches_reference(c, run_conv(layer, c));
    }
    EXPECT_FALSE(layer.set_mask(c.mask).changed());
    expect_error([&] { layer.set_mask(c.mask.reshaped({16, 108})); }, {"16x108"});
  }
}

TEST(ConvLayer, CompilesAheadForWhatOptionsDescribe) {
  if (!detect_machine().avx2_fma) GTEST_SKIP() << "nothing is compiled without AVX2 and FMA";
  for (const Layout layout : {Layout::feature_major, Layout::row_major}) {
    Runtime runtime(with_threads(1));
    LayerOptions options;
    options.engine = Engine::native;
    options.batch = 4;
    options.image = {9, 10};
    options.layout = layout;
    options.runtime = &runtime;
    ConvCase c{.mask = Mask::random({6, 5, 3, 3}, 0.6, 1),
               .conv = {.padding = 1},
               .images = 4,
               .size = {9, 10}};
    if (layout == Layout::row_major) c.arrange(ImageArrangement::channels_last);
    const Layer layer = compile_layer(c.mask, c.conv, options);
    const int64_t compiled = runtime.stats().cache_misses;
    EXPECT_GT(compiled, 0);
    expect_matches_reference(c, run_conv(layer, c));
    EXPECT_EQ(runtime.stats().cache_misses, compiled) << layer.explain();
  }
  LayerOptions empty;
  empty.batch = 1;
  expect_error(
      [&] {
        compile_layer(Mask::random({1, 1, 3, 3}, 0, 1), Conv2d{}, empty);
      },
      {"empty", "1x1"});
}

// Geometry is part of the key of generated code.
TEST(ConvLayer, EqualMasksOfOtherGeometryShareNoCode) {
  if (!detect_machine().avx2_fma) GTEST_SKIP() << "nothing is compiled without AVX2 and FMA";
  Runtime runtime(with_threads(1));
  int64_t kernels = 0;
  for (const Conv2d& conv : {Conv2d{.padding = 1}, Conv2d{.padding = 2, .dilation = 2},
                             Conv2d{.stride = 2, .padding = 1}, Conv2d{.padding = {1, 1, 0, 2}}}) {
    ConvCase c{
        .mask = Mask::random({6, 6, 3, 3}, 0.6, 1), .conv = conv, .images = 2, .size = {8, 8}};
    expect_matches_reference(c, run_conv(forced_conv(c, Engine::native, runtime), c));
    EXPECT_GT(runtime.stats().kernels, kernels);
    kernels = runtime.stats().kernels;
  }
}

TEST(ConvLayer, ExplainsItself) {
  Runtime runtime(with_threads(1));
  ConvCase c{.mask = Mask::random({6, 5, 3, 3}, 0.6, 1),
             .conv = {.padding = 1},
             .images = 4,
             .size = {9, 10}};
  const Layer layer = forced_conv(c, available_engines().front(), runtime);
  run_conv(layer, c);
  EXPECT_NE(layer.explain().find("layer 6x5x3x3"), std::string::npos) << layer.explain();
}

}  // namespace
}  // namespace sparsejit::test
