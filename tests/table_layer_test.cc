// Layers whose passes read tables: the same bits as the interpreted engine, and what the reference
// says, whatever the length, the strides, the caches and the number of threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/mask_edits.h"
#include "support/native_kinds.h"
#include "support/plans.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

// Blocks are small on such a machine, and unrolled code is predicted to come from memory.
MachineModel tiny_caches() {
  MachineModel machine = made_up_machine(16 << 10);
  machine.l1_bytes = 1 << 10;
  machine.l3_bytes = 16 << 10;
  return machine;
}

class TableLayer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }

  // How many of both passes have been run with a table.
  static int tables_run(const Layer& layer) {
    return (has_run(layer, Pass::forward, "native table") ? 1 : 0) +
           (has_run(layer, Pass::backward, "native table") ? 1 : 0);
  }

  template <typename Case>
  static int check(const Case& of, Runtime& runtime) {
    return tables_run(expect_native_like_interpreted(of, runtime));
  }

  Runtime runtime_{with_machine(tiny_caches(), 2)};
};

TEST_F(TableLayer, EveryLengthInEveryArrangement) {
  const Mask mask = Mask::random({60, 70}, 0.4, 1);
  int tables = 0;
  for (int64_t batch = 1; batch <= 65; ++batch) {
    const auto& writable = writable_arrangements();
    const auto number = static_cast<size_t>(batch);
    LayerCase layer_case = {.mask = mask, .batch = batch};
    layer_case.arrange(all_arrangements()[number % all_arrangements().size()]);
    layer_case.y = writable[number % writable.size()];
    layer_case.dx = writable[(number + 1) % writable.size()];
    layer_case.edge = batch % 2 == 0 ? Edge::end : Edge::start;
    layer_case.with_dx = batch % 5 != 0;
    tables += check(layer_case, runtime_);
  }
  EXPECT_GT(tables, 110) << "else this tests another engine";
}

TEST_F(TableLayer, AssortedMasks) {
  int tables = 0;
  for (const Mask& mask : assorted_masks()) {
    for (const int64_t batch : {8, 13, 24, 40, 50, 64}) {
      LayerCase layer_case = {.mask = mask, .batch = batch};
      layer_case.arrange(Arrangement::feature_major);
      tables += check(layer_case, runtime_);
    }
  }
  EXPECT_GT(tables, 40) << "else this tests another engine";
}

TEST_F(TableLayer, SmallImagesWithPadding) {
  int tables = 0;
  for (const int64_t stride : {1, 2}) {
    for (const ImageSize size : {ImageSize{3, 3}, ImageSize{5, 4}, ImageSize{6, 6}}) {
      ConvCase conv_case = {.mask = Mask::random({30, 20, 3, 3}, 0.5, 3),
                            .conv = Conv2d{.stride = stride, .padding = 1},
                            .images = 1,
                            .size = size};
      for (const ImageArrangement arrangement :
           {ImageArrangement::nchw, ImageArrangement::channels_last}) {
        conv_case.arrange(arrangement);
        tables += check(conv_case, runtime_);
      }
    }
  }
  EXPECT_GT(tables, 12) << "else this tests another engine";
}

TEST_F(TableLayer, MasksMayChange) {
  Mask mask = Mask::random({300, 200}, 0.6, 1);
  Layer native = forced_layer(mask, Engine::native, runtime_);
  int64_t kept = 0;
  for (int64_t row = 0; row < 300; row += 60) {
    LayerCase layer_case = {.mask = mask, .batch = 24};
    for (int call = 0; call < kCallsToMeasureAll; ++call) {
      expect_matches_reference(layer_case, run_layer(native, layer_case));
    }
    EXPECT_TRUE(has_run(native, Pass::forward, "native table"));
    mask = without_one(mask, row);
    kept += native.set_mask(mask).chunks_kept;
  }
  EXPECT_GT(kept, 10) << "chunks of rows that did not change";
}

TEST_F(TableLayer, ResultsDoNotDependOnTheNumberOfThreads) {
  LayerCase layer_case = {.mask = Mask::random({256, 256}, 0.5, 4), .batch = 40};
  layer_case.arrange(Arrangement::feature_major);
  layer_case.inputs = random_inputs(layer_case.mask, 40, true, 4);
  Runtime one(with_machine(tiny_caches(), 1));
  const LayerOutputs expected =
      run_layer(forced_layer(layer_case.mask, Engine::native, one), layer_case).outputs;
  for (const int threads : {2, 3}) {
    Runtime runtime(with_machine(tiny_caches(), threads));
    const Layer layer = forced_layer(layer_case.mask, Engine::native, runtime);
    for (int call = 0; call < kCallsToMeasureAll; ++call) {
      expect_same_bits(run_layer(layer, layer_case).outputs, expected);
    }
    EXPECT_TRUE(has_run(layer, Pass::backward, "native table"));
  }
}

}  // namespace
}  // namespace sparsejit::test
