// What NaN and infinity do: a pruned weight does not touch its input, outputs are overwritten.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class LayerNan : public ::testing::TestWithParam<Engine> {
 protected:
  LayerOutputs run(const LayerCase& layer_case) {
    const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
    return run_layer(layer, layer_case).outputs;
  }

  Runtime runtime_{with_threads(2)};
};

// run_layer fills outputs with NaN before the call.
TEST_P(LayerNan, EmptyMaskGivesTheBiasAndZeroGradients) {
  for (const int64_t batch : {1, 7, 8, 30, 64, 77, 200}) {
    for (const Arrangement arrangement : {Arrangement::row_major, Arrangement::feature_major}) {
      LayerCase layer_case = {.mask = Mask::random({5, 6}, 1.0, 1), .batch = batch};
      layer_case.arrange(arrangement);
      SCOPED_TRACE(to_text(layer_case));
      layer_case.inputs = random_inputs(layer_case.mask, batch, true, 1);
      const LayerOutputs outputs = run(layer_case);
      for (size_t i = 0; i < outputs.y.size(); ++i) {
        ASSERT_EQ(outputs.y[i], layer_case.inputs->bias[i % 5]) << i;
      }
      EXPECT_EQ(outputs.dx, std::vector<float>(static_cast<size_t>(batch * 6), 0.0F));
      EXPECT_TRUE(outputs.d_values.empty());
      layer_case.inputs->bias.clear();
      EXPECT_EQ(run(layer_case).y, std::vector<float>(static_cast<size_t>(batch * 5), 0.0F));
    }
  }
}

TEST_P(LayerNan, PrunedWeightDoesNotTouchItsInput) {
  LayerCase layer_case = {.mask = Mask::from_smtx("2, 3, 2\n0 1 2\n0 1\n"), .batch = 1};
  layer_case.inputs = {
      .x = {1.0F, kNan, 3.0F}, .dy = {1.0F, 1.0F}, .values = {1.0F, 2.0F}, .bias = {}};
  const LayerOutputs outputs = run(layer_case);
  EXPECT_EQ(outputs.y[0], 1.0F);
  EXPECT_TRUE(std::isnan(outputs.y[1]));
  EXPECT_EQ(outputs.dx, (std::vector<float>{1.0F, 2.0F, 0.0F}));
  EXPECT_EQ(outputs.d_values[0], 1.0F);
  EXPECT_TRUE(std::isnan(outputs.d_values[1]));
}

// The reference has NaN exactly where a stored weight meets one.
TEST_P(LayerNan, NanReachesExactlyTheStoredWeightsOfItsColumn) {
  for (const int64_t batch : {3, 8, 21, 64, 75}) {
    for (const Arrangement arrangement : {Arrangement::row_major, Arrangement::feature_major}) {
      LayerCase layer_case = {.mask = Mask::random({20, 15}, 0.8, 2), .batch = batch};
      layer_case.arrange(arrangement);
      SCOPED_TRACE(to_text(layer_case));
      layer_case.inputs = random_inputs(layer_case.mask, batch, true, 2);
      layer_case.inputs->x[4] = kNan;
      layer_case.inputs->x[15 * (batch - 1) + 9] = kInfinity;
      layer_case.inputs->dy[20 * (batch / 2) + 3] = kNan;
      const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
      const LayerRun run = run_layer(layer, layer_case);
      const LayerReference reference = reference_layer(layer_case.mask, batch, run.inputs);
      const auto expect_same_nans = [](const std::vector<float>& actual,
                                       const std::vector<ReferenceSum>& expected) {
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_EQ(std::isfinite(actual[i]), std::isfinite(expected[i].sum)) << i;
        }
      };
      expect_same_nans(run.outputs.y, reference.y);
      expect_same_nans(run.outputs.dx, reference.dx);
      expect_same_nans(run.outputs.d_values, reference.d_values);
      expect_same_nans(run.outputs.d_bias, reference.d_bias);
    }
  }
}

// Padded lanes hold zeros; zero times an infinite weight must not leak into a sum.
TEST_P(LayerNan, InfiniteWeightSpoilsOnlyWhatItServes) {
  LayerCase layer_case = {.mask = Mask::from_smtx("2, 2, 3\n0 2 3\n0 1 1\n"), .batch = 11};
  layer_case.inputs = random_inputs(layer_case.mask, 11, true, 3);
  layer_case.inputs->values[0] = kInfinity;
  const LayerOutputs outputs = run(layer_case);
  for (size_t b = 0; b < 11; ++b) {
    EXPECT_TRUE(std::isinf(outputs.y[2 * b])) << b;
    EXPECT_TRUE(std::isfinite(outputs.y[2 * b + 1])) << b;
  }
  for (const float gradient : outputs.d_values) EXPECT_TRUE(std::isfinite(gradient));
}

TEST_P(LayerNan, StoredZeroStaysStoredAndHasAGradient) {
  LayerCase layer_case = {.mask = Mask::from_smtx("1, 3, 2\n0 2\n0 2\n"), .batch = 2};
  layer_case.inputs = {.x = {1.0F, 5.0F, 2.0F, 3.0F, 6.0F, 4.0F},
                       .dy = {1.0F, 10.0F},
                       .values = {0.0F, 2.0F},
                       .bias = {}};
  const LayerOutputs outputs = run(layer_case);
  EXPECT_EQ(outputs.y, (std::vector<float>{4.0F, 8.0F}));
  EXPECT_EQ(outputs.d_values, (std::vector<float>{31.0F, 42.0F}));
}

INSTANTIATE_TEST_SUITE_P(Engines, LayerNan, ::testing::ValuesIn(available_engines()),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

}  // namespace
}  // namespace sparsejit::test
