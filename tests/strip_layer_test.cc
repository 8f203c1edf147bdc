// Layers whose backward pass runs in strips: the same bits on the native and the interpreted
// engine, for any number of threads, whatever the strides, the length of the batch and the caches;
// both near the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/conv_case.h"
#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

MachineModel small_caches() {
  MachineModel machine = detect_machine();
  machine.l1_bytes = 8 << 10;  // blocks of 24 streams at most
  return machine;
}

bool has_run_in_strips(const Layer& layer) {
  return std::ranges::any_of(layer.report(), [](const KernelReport& report) {
    return std::ranges::any_of(report.plans,
                               [](const Plan& plan) { return plan.family == KernelFamily::strip; });
  });
}

// The case on one engine; whether that was in strips.
bool run_once(const LayerCase& of, Engine engine, Runtime& runtime, LayerRun& run) {
  const Layer layer = forced_layer(of.mask, engine, runtime);
  run = run_layer(layer, of);
  expect_ran_on(layer, engine);
  return has_run_in_strips(layer);
}
bool run_once(const ConvCase& of, Engine engine, Runtime& runtime, LayerRun& run) {
  const Layer layer = forced_conv(of, engine, runtime);
  run = run_conv(layer, of);
  expect_ran_on(layer, engine);
  return has_run_in_strips(layer);
}

class StripLayer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (detect_machine().unrolled_isa.lanes != 16) GTEST_SKIP() << "no AVX-512 to be used here";
  }

  // Returns whether strips were what ran.
  template <typename Case>
  static bool check(const Case& of, Runtime& runtime) {
    LayerRun native;
    LayerRun interpreted;
    const bool in_strips = run_once(of, Engine::native, runtime, native);
    EXPECT_EQ(run_once(of, Engine::interpreted, runtime, interpreted), in_strips);
    expect_matches_reference(of, interpreted);
    expect_same_bits(native.outputs, interpreted.outputs);
    return in_strips;
  }

  Runtime one_{with_threads(1)};
  Runtime two_{with_threads(2)};
  Runtime small_{with_machine(small_caches(), 2)};
};

TEST_F(StripLayer, EveryArrangementAndLength) {
  const Mask mask = Mask::random({120, 100}, 0.3, 1);
  int strips = 0;
  for (const int64_t batch : {70, 96, 129, 300}) {
    for (const Arrangement x : all_arrangements()) {
      LayerCase layer_case = {.mask = mask, .batch = batch, .x = x, .dy = x};
      layer_case.edge = batch % 2 == 0 ? Edge::end : Edge::start;
      const auto& writable = writable_arrangements();
      layer_case.dx = writable[static_cast<size_t>(batch) % writable.size()];
      for (Runtime* runtime : {&two_, &small_}) strips += check(layer_case, *runtime) ? 1 : 0;
    }
  }
  EXPECT_GT(strips, 30) << "else this tests another engine";
}

// Row-major tensors are cut into slabs of 1024 samples and less.
TEST_F(StripLayer, SeveralSlabsAddUp) {
  LayerCase layer_case = {.mask = Mask::random({120, 100}, 0.3, 1), .batch = 2100};
  EXPECT_TRUE(check(layer_case, two_));
  layer_case.arrange(Arrangement::feature_major);
  EXPECT_TRUE(check(layer_case, one_));
}

TEST_F(StripLayer, ThreadsDoNotChangeABit) {
  const LayerCase layer_case = {.mask = Mask::random({300, 200}, 0.5, 1), .batch = 333};
  for (const Engine engine : {Engine::native, Engine::interpreted}) {
    const LayerRun alone = run_layer(forced_layer(layer_case.mask, engine, one_), layer_case);
    const LayerRun both = run_layer(forced_layer(layer_case.mask, engine, two_), layer_case);
    expect_same_bits(both.outputs, alone.outputs);
  }
}

// A first layer needs no gradient of its input.
TEST_F(StripLayer, WithoutDxTheOtherGradientsHaveTheSameBits) {
  LayerCase layer_case = {.mask = Mask::random({150, 120}, 0.3, 1), .batch = 333};
  ConvCase conv_case = {.mask = Mask::random({64, 32, 3, 3}, 0.2, 3),
                        .conv = Conv2d{.padding = 1},
                        .images = 3,
                        .size = {13, 12}};
  for (const Engine engine : {Engine::native, Engine::interpreted}) {
    LayerOutputs expected =
        run_layer(forced_layer(layer_case.mask, engine, two_), layer_case).outputs;
    LayerOutputs images = run_conv(forced_conv(conv_case, engine, two_), conv_case).outputs;
    layer_case.with_dx = conv_case.with_dx = false;
    expected.dx.clear();
    images.dx.clear();
    const Layer layer = forced_layer(layer_case.mask, engine, two_);
    expect_same_bits(run_layer(layer, layer_case).outputs, expected);
    expect_same_bits(run_conv(forced_conv(conv_case, engine, two_), conv_case).outputs, images);
    EXPECT_TRUE(has_run_in_strips(layer));
    layer_case.with_dx = conv_case.with_dx = true;
  }
}

TEST_F(StripLayer, RowsAndColumnsWithoutWeights) {
  std::vector<uint8_t> dense(size_t{150} * 120, 0);
  for (size_t i = 0; i < dense.size(); ++i) {
    const size_t row = i / 120;
    dense[i] = row % 7 != 0 && row < 140 && i % 120 < 100 ? 1 : 0;
  }
  const LayerCase layer_case = {.mask = Mask::from_dense(dense, {150, 120}), .batch = 200};
  for (Runtime* runtime : {&one_, &two_, &small_}) EXPECT_TRUE(check(layer_case, *runtime));
}

// The gradient of the output is gated slab by slab before it is cut into strips.
TEST_F(StripLayer, ReluGatesTheGradient) {
  ConvCase conv_case = {
      .mask = Mask::random({150, 120, 1, 1}, 0.3, 2), .images = 1100, .size = {1, 1}, .relu = true};
  EXPECT_TRUE(check(conv_case, two_));
  conv_case.mask = Mask::random({64, 40, 3, 3}, 0.3, 2);
  conv_case.conv.padding = 1;
  conv_case.images = 3;
  conv_case.size = {13, 12};
  EXPECT_TRUE(check(conv_case, two_));
}

TEST_F(StripLayer, Convolutions) {
  int strips = 0;
  for (const Conv2d& conv :
       {Conv2d{}, Conv2d{.padding = 1}, Conv2d{.stride = 2, .padding = {1, 0, 2, 1}},
        Conv2d{.padding = 3, .dilation = {2, 3}}, Conv2d{.padding = Padding2d::same(), .groups = 2},
        Conv2d{.stride = {1, 2}, .padding = 1}}) {
    for (const ImageSize size : {ImageSize{8, 9}, ImageSize{20, 16}, ImageSize{22, 15}}) {
      for (const int64_t kernel : {1, 3}) {
        ConvCase conv_case = {.mask = Mask::random({48, 32, kernel, kernel}, 0.1, 3),
                              .conv = conv,
                              .images = 3,
                              .size = size};
        conv_case.arrange(size.width % 2 == 0 ? ImageArrangement::nchw
                                              : ImageArrangement::channels_last);
        for (Runtime* runtime : {&one_, &small_}) strips += check(conv_case, *runtime) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(strips, 24) << "else this tests another engine";
}

TEST_F(StripLayer, NaNStaysWhereItBelongs) {
  LayerCase layer_case = {.mask = Mask::random({150, 120}, 0.3, 1), .batch = 90};
  layer_case.inputs = random_inputs(layer_case.mask, 90, true, 1);
  layer_case.inputs->dy[17 * 150 + 3] = std::numeric_limits<float>::quiet_NaN();
  layer_case.inputs->x[88 * 120 + 5] = std::numeric_limits<float>::quiet_NaN();
  expect_matches_reference(
      layer_case, run_layer(forced_layer(layer_case.mask, Engine::native, two_), layer_case));
}

TEST_F(StripLayer, MasksMayChange) {
  Layer native = forced_layer(Mask::random({300, 200}, 0.6, 1), Engine::native, two_);
  for (uint64_t seed = 1; seed < 6; ++seed) {
    LayerCase layer_case = {.mask = Mask::random({300, 200}, 0.6, seed), .batch = 130};
    native.set_mask(layer_case.mask);
    expect_matches_reference(layer_case, run_layer(native, layer_case));
    EXPECT_TRUE(has_run_in_strips(native));
  }
}

// A mask that has become too sparse for strips, and back.
TEST_F(StripLayer, AMaskThatChangesDensityChangesTheKernel) {
  Layer native = forced_layer(Mask::random({300, 200}, 0.6, 1), Engine::native, two_);
  for (const double sparsity : {0.6, 0.99, 0.6}) {
    LayerCase layer_case = {.mask = Mask::random({300, 200}, sparsity, 1), .batch = 130};
    native.set_mask(layer_case.mask);
    expect_matches_reference(layer_case, run_layer(native, layer_case));
    EXPECT_EQ(has_run_in_strips(native), sparsity < 0.9);
  }
}

}  // namespace
}  // namespace sparsejit::test
