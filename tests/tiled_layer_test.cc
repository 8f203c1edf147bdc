// Layers whose forward pass runs in tiles: the same bits as the interpreted engine, whatever the
// strides, the length of the batch, the caches and the number of threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/native_kinds.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

MachineModel small_caches() {
  MachineModel machine = detect_machine();
  machine.l1_bytes = 6 << 10;  // blocks of 19 streams
  machine.l2_bytes = 64 << 10;
  return machine;
}

bool has_run_tiled(const Layer& layer) { return has_run(layer, Pass::forward, "native tiled"); }

class TiledLayer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }

  // Returns whether tiles were among what ran.
  template <typename Case>
  static bool check(const Case& of, Runtime& runtime) {
    return has_run_tiled(expect_native_like_interpreted(of, runtime));
  }

  Runtime runtime_{with_threads(2)};
};

TEST_F(TiledLayer, EveryArrangementAndLength) {
  const Mask mask = Mask::random({60, 90}, 0.6, 1);
  Runtime small(with_machine(small_caches(), 2));
  int tiled = 0;
  for (const int64_t batch : {16, 17, 31, 70, 72, 129, 400, 1100}) {
    for (const Arrangement x : all_arrangements()) {
      LayerCase layer_case = {.mask = mask, .batch = batch, .x = x};
      layer_case.edge = batch % 2 == 0 ? Edge::end : Edge::start;
      const auto& writable = writable_arrangements();
      layer_case.y = writable[static_cast<size_t>(batch) % writable.size()];
      for (Runtime* runtime : {&runtime_, &small}) tiled += check(layer_case, *runtime) ? 1 : 0;
    }
  }
  EXPECT_GT(tiled, 50) << "else this tests another engine";
}

TEST_F(TiledLayer, RowsAndColumnsWithoutWeights) {
  std::vector<uint8_t> dense(size_t{50} * 120, 0);
  for (size_t i = 0; i < dense.size(); ++i) {
    if (i % 3 == 0) continue;
    const size_t row = i / 120;
    dense[i] = row % 7 != 0 && row < 40 && i % 120 < 100 ? 1 : 0;
  }
  EXPECT_TRUE(check(LayerCase{.mask = Mask::from_dense(dense, {50, 120}), .batch = 200}, runtime_));
  Runtime small(with_machine(small_caches(), 1));
  EXPECT_TRUE(check(LayerCase{.mask = Mask::from_dense(dense, {50, 120}), .batch = 200}, small));
}

TEST_F(TiledLayer, ConvolutionsOfOnePixel) {
  int tiled = 0;
  for (const ImageArrangement arrangement :
       {ImageArrangement::nchw, ImageArrangement::channels_last}) {
    for (const int64_t stride : {1, 2}) {
      for (const ImageSize size : {ImageSize{7, 9}, ImageSize{20, 16}, ImageSize{40, 40}}) {
        ConvCase conv_case = {.mask = Mask::random({40, 48, 1, 1}, 0.5, 3),
                              .conv = Conv2d{.stride = stride},
                              .images = 5,
                              .size = size};
        conv_case.arrange(arrangement);
        tiled += check(conv_case, runtime_) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(tiled, 6) << "else this tests another engine";
}

TEST_F(TiledLayer, ConvolutionsWithShifts) {
  Runtime small(with_machine(small_caches(), 2));
  int tiled = 0;
  for (const Conv2d& conv :
       {Conv2d{.padding = 1}, Conv2d{.stride = 2, .padding = {1, 0, 2, 1}},
        Conv2d{.padding = 3, .dilation = {2, 3}}, Conv2d{.padding = Padding2d::same(), .groups = 4},
        Conv2d{.stride = {1, 2}, .padding = 1}}) {
    for (const ImageSize size : {ImageSize{8, 9}, ImageSize{20, 16}, ImageSize{41, 40}}) {
      ConvCase conv_case = {
          .mask = Mask::random({40, 12, 3, 2}, 0.5, 3), .conv = conv, .images = 3, .size = size};
      conv_case.arrange(size.width % 2 == 0 ? ImageArrangement::nchw
                                            : ImageArrangement::channels_last);
      for (Runtime* runtime : {&runtime_, &small}) tiled += check(conv_case, *runtime) ? 1 : 0;
    }
  }
  EXPECT_GT(tiled, 20) << "else this tests another engine";
}

TEST_F(TiledLayer, MasksOfConvolutionsMayChange) {
  ConvCase conv_case = {.mask = Mask::random({64, 32, 3, 3}, 0.6, 1),
                        .conv = Conv2d{.padding = 1},
                        .images = 2,
                        .size = {13, 14}};
  Layer native = forced_conv(conv_case, Engine::native, runtime_);
  for (uint64_t seed = 1; seed < 6; ++seed) {
    conv_case.mask = Mask::random({64, 32, 3, 3}, 0.6, seed);
    native.set_mask(conv_case.mask);
    for (int call = 0; call < kCallsToMeasureAll; ++call) {
      expect_matches_reference(conv_case, run_conv(native, conv_case));
    }
  }
  EXPECT_TRUE(has_run_tiled(native));
}

TEST_F(TiledLayer, MasksMayChange) {
  Layer native = forced_layer(Mask::random({300, 200}, 0.6, 1), Engine::native, runtime_);
  for (uint64_t seed = 1; seed < 6; ++seed) {
    LayerCase layer_case = {.mask = Mask::random({300, 200}, 0.6, seed), .batch = 130};
    native.set_mask(layer_case.mask);
    for (int call = 0; call < kCallsToMeasureAll; ++call) {
      expect_matches_reference(layer_case, run_layer(native, layer_case));
    }
  }
  EXPECT_TRUE(has_run_tiled(native));
}

}  // namespace
}  // namespace sparsejit::test
