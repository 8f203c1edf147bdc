// Layers whose passes read tables: the same bits as the interpreted engine, and what the reference
// says, whatever the length, the strides, the caches and the number of threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/conv_case.h"
#include "support/layer_case.h"
#include "support/mask_edits.h"
#include "support/plans.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

constexpr int kCalls = 12;  // all kinds of generated code have been measured by then

bool has_run_table(const Layer& layer, Pass pass) {
  for (const KernelReport& report : layer.report()) {
    if (report.pass != pass) continue;
    for (const CandidateReport& candidate : report.candidates) {
      if (candidate.name != "native table") continue;
      return candidate.runs || candidate.measured_seconds > 0;
    }
  }
  return false;
}

// Unrolled code comes from memory on such a machine, so that it is not even tried; blocks are
// small.
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
    return (has_run_table(layer, Pass::forward) ? 1 : 0) +
           (has_run_table(layer, Pass::backward) ? 1 : 0);
  }

  int check(const LayerCase& layer_case, Runtime& runtime) {
    SCOPED_TRACE(to_text(layer_case));
    const Layer native = forced_layer(layer_case.mask, Engine::native, runtime);
    const Layer interpreted = forced_layer(layer_case.mask, Engine::interpreted, runtime);
    const LayerRun expected = run_layer(interpreted, layer_case);
    expect_matches_reference(layer_case, expected);
    for (int call = 0; call < kCalls; ++call) {
      expect_same_bits(run_layer(native, layer_case).outputs, expected.outputs);
    }
    return tables_run(native);
  }

  int check(const ConvCase& conv_case, Runtime& runtime) {
    SCOPED_TRACE(to_text(conv_case));
    const Layer native = forced_conv(conv_case, Engine::native, runtime);
    const Layer interpreted = forced_conv(conv_case, Engine::interpreted, runtime);
    const LayerRun expected = run_conv(interpreted, conv_case);
    expect_matches_reference(conv_case, expected);
    for (int call = 0; call < kCalls; ++call) {
      expect_same_bits(run_conv(native, conv_case).outputs, expected.outputs);
    }
    return tables_run(native);
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
    for (int call = 0; call < kCalls; ++call) {
      expect_matches_reference(layer_case, run_layer(native, layer_case));
    }
    EXPECT_TRUE(has_run_table(native, Pass::forward));
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
    for (int call = 0; call < kCalls; ++call) {
      expect_same_bits(run_layer(layer, layer_case).outputs, expected);
    }
    EXPECT_TRUE(has_run_table(layer, Pass::backward));
  }
}

}  // namespace
}  // namespace sparsejit::test
