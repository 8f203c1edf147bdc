// Every engine against the naive reference: batch sizes and widths around the vector length, masks
// with nothing, everything, one tap, empty rows and columns, one dense row.
#include <gtest/gtest.h>

#include "support/layer_case.h"
#include "support/plain_sgemm.h"
#include "support/plans.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

const std::vector<int64_t> kBatches = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                       14, 15, 16, 17, 31, 33, 63, 64, 65, 71, 72, 73, 100};

class LayerShapes : public ::testing::TestWithParam<Engine> {
 protected:
  // Row-major and feature-major, from both ends of memory.
  void check(LayerCase layer_case) {
    const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
    for (const Arrangement arrangement : {Arrangement::row_major, Arrangement::feature_major}) {
      for (const Edge edge : {Edge::end, Edge::start}) {
        layer_case.arrange(arrangement);
        layer_case.edge = edge;
        SCOPED_TRACE(to_text(layer_case));
        expect_matches_reference(layer_case, run_layer(layer, layer_case));
      }
    }
    expect_ran_on(layer, GetParam());
  }

  Runtime runtime_{with_sgemm(2)};
};

TEST_P(LayerShapes, EveryBatchSizeMatchesTheReference) {
  for (const int64_t batch : kBatches) {
    check({.mask = Mask::random({21, 34}, 0.75, 1), .batch = batch});
  }
}

TEST_P(LayerShapes, EveryWidthMatchesTheReference) {
  for (int64_t width = 1; width <= 17; ++width) {
    for (const int64_t batch : {int64_t{3}, int64_t{8}, int64_t{67}, int64_t{80}}) {
      check({.mask = Mask::random({width, 19}, 0.6, 2), .batch = batch});
      check({.mask = Mask::random({19, width}, 0.6, 3), .batch = batch});
    }
  }
}

TEST_P(LayerShapes, WidthsAroundPowersOfTwoMatchTheReference) {
  for (const int64_t width : {31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
    check({.mask = Mask::random({width, 40}, 0.9, 4), .batch = 24});
    check({.mask = Mask::random({40, width}, 0.9, 5), .batch = 90});
  }
}

TEST_P(LayerShapes, AwkwardMasksMatchTheReference) {
  for (const Mask& mask : assorted_masks()) {
    for (const int64_t batch : {1, 5, 8, 16, 40, 64, 65, 72, 130}) {
      check({.mask = mask, .batch = batch});
    }
  }
}

TEST_P(LayerShapes, MaskWithoutRowsOrColumnsWorks) {
  for (const MaskShape shape : {MaskShape{0, 5}, {5, 0}, {0, 0}}) {
    for (const int64_t batch : {1, 8, 100}) {
      check({.mask = Mask::random(shape, 0.5, 1), .batch = batch});
    }
  }
}

// Longer than any panel, so that streams are walked in several, with a remainder.
TEST_P(LayerShapes, LongBatchesMatchTheReference) {
  for (const int64_t batch : {902, 1024, 2500}) {
    check({.mask = Mask::random({40, 30}, 0.85, 6), .batch = batch});
  }
}

// More gathered streams than fit a cache, so that the plan has several blocks.
TEST_P(LayerShapes, ManyStreamsMatchTheReference) {
  MachineModel small = detect_machine();
  small.l2_bytes = 16 << 10;
  Runtime runtime(with_machine(small, 2));
  LayerCase layer_case = {.mask = Mask::random({20, 1500}, 0.9, 7), .batch = 300};
  const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime);
  for (const Arrangement arrangement : {Arrangement::row_major, Arrangement::feature_major}) {
    layer_case.arrange(arrangement);
    SCOPED_TRACE(to_text(layer_case));
    expect_matches_reference(layer_case, run_layer(layer, layer_case));
  }
  if (GetParam() == Engine::portable) return;
  EXPECT_GT(layer.report().front().plans.front().blocks, 1) << layer.explain();
}

// Enough work that threads share it; smaller layers stay on the caller's thread.
TEST_P(LayerShapes, WorkSharedAmongThreadsMatchesTheReference) {
  for (const int64_t batch : {17, 40, 64, 99}) {
    check({.mask = Mask::random({200, 300}, 0.4, 10), .batch = batch});
  }
}

TEST_P(LayerShapes, EmptyBatchGivesZeroGradients) {
  LayerCase layer_case = {.mask = Mask::random({6, 5}, 0.5, 8), .batch = 0};
  const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
  const LayerRun run = run_layer(layer, layer_case);
  EXPECT_EQ(run.outputs.d_values, std::vector<float>(15, 0.0F));
  EXPECT_EQ(run.outputs.d_bias, std::vector<float>(6, 0.0F));
}

// One layer that meets many batch sizes, in changing order, as the last batch of an epoch does.
TEST_P(LayerShapes, BatchSizesMayAlternate) {
  LayerCase layer_case = {.mask = Mask::random({33, 47}, 0.8, 9)};
  const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
  for (int round = 0; round < 2; ++round) {
    for (const int64_t batch : {64, 17, 100, 1, 64, 8, 100}) {
      layer_case.batch = batch;
      layer_case.arrange(batch % 2 == 0 ? Arrangement::feature_major_padded
                                        : Arrangement::row_major);
      SCOPED_TRACE(to_text(layer_case));
      expect_matches_reference(layer_case, run_layer(layer, layer_case));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, LayerShapes, ::testing::ValuesIn(linear_engines()),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

}  // namespace
}  // namespace sparsejit::test
