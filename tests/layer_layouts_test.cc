// Tensors of any strides: row-major, feature-major, padded, sliced, reversed, expanded, and mixed.
#include <gtest/gtest.h>

#include "support/layer_case.h"
#include "support/plain_sgemm.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class LayerLayouts : public ::testing::TestWithParam<Engine> {
 protected:
  void check(const LayerCase& layer_case) {
    SCOPED_TRACE(to_text(layer_case));
    const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
    expect_matches_reference(layer_case, run_layer(layer, layer_case));
    expect_ran_on(layer, GetParam());
  }

  Runtime runtime_{with_sgemm(2)};
  // Short and long streams, with and without a remainder of the vectors.
  const std::vector<int64_t> batches_ = {5, 16, 29, 80, 91};
};

TEST_P(LayerLayouts, AnyInputStridesAreAccepted) {
  for (const Arrangement arrangement : all_arrangements()) {
    for (const int64_t batch : batches_) {
      for (const Edge edge : {Edge::end, Edge::start}) {
        LayerCase layer_case = {.mask = Mask::random({18, 27}, 0.7, 1), .batch = batch};
        layer_case.x = arrangement;
        layer_case.dy = arrangement;
        layer_case.edge = edge;
        check(layer_case);
      }
    }
  }
}

TEST_P(LayerLayouts, AnyOutputStridesAreAcceptedAndGapsLeftAlone) {
  for (const Arrangement arrangement : writable_arrangements()) {
    for (const int64_t batch : batches_) {
      for (const Edge edge : {Edge::end, Edge::start}) {
        LayerCase layer_case = {.mask = Mask::random({18, 27}, 0.7, 2), .batch = batch};
        layer_case.y = arrangement;
        layer_case.dx = arrangement;
        layer_case.edge = edge;
        check(layer_case);
      }
    }
  }
}

TEST_P(LayerLayouts, LayoutsMayBeMixed) {
  const auto& inputs = all_arrangements();
  const auto& outputs = writable_arrangements();
  size_t round = 0;
  for (const Arrangement x : inputs) {
    for (const Arrangement dy : inputs) {
      LayerCase layer_case = {.mask = Mask::random({13, 22}, 0.6, 3)};
      layer_case.batch = batches_[round % batches_.size()];
      layer_case.x = x;
      layer_case.dy = dy;
      layer_case.y = outputs[round % outputs.size()];
      layer_case.dx = outputs[(round / 3) % outputs.size()];
      layer_case.seed = ++round;
      check(layer_case);
    }
  }
}

// The gradient of a sum is one number expanded over the whole tensor.
TEST_P(LayerLayouts, GradientOfASumIsAnExpandedTensor) {
  LayerCase layer_case = {.mask = Mask::random({6, 9}, 0.9, 4), .batch = 33};
  layer_case.dy = Arrangement::expanded;
  layer_case.inputs = random_inputs(layer_case.mask, 33, true, 1);
  layer_case.inputs->dy.assign(size_t{33} * 6, 1.0F);
  const Layer layer = forced_layer(layer_case.mask, GetParam(), runtime_);
  const LayerRun run = run_layer(layer, layer_case);
  expect_matches_reference(layer_case, run);
  EXPECT_EQ(run.outputs.d_values.size(), 5U);
  EXPECT_EQ(run.outputs.d_bias, std::vector<float>(6, 33.0F));
}

TEST_P(LayerLayouts, OptionalTensorsMayBeLeftOut) {
  for (const int64_t batch : batches_) {
    for (const Arrangement arrangement : {Arrangement::row_major, Arrangement::feature_major}) {
      for (int left_out = 0; left_out < 16; ++left_out) {
        LayerCase layer_case = {.mask = Mask::random({18, 27}, 0.7, 5), .batch = batch};
        layer_case.arrange(arrangement);
        layer_case.with_bias = (left_out & 1) == 0;
        layer_case.with_dx = (left_out & 2) == 0;
        layer_case.with_d_bias = (left_out & 4) == 0;
        layer_case.with_d_values = (left_out & 8) == 0;
        check(layer_case);
      }
    }
  }
}

// A layer that is called with ever new pitches stops compiling for them, and stays right.
TEST_P(LayerLayouts, ManyDifferentPitchesStayRight) {
  const Mask mask = Mask::random({7, 5}, 0.5, 6);
  const LayerInputs inputs = random_inputs(mask, 24, true, 1);
  const LayerReference reference = reference_layer(mask, 24, inputs);
  const Layer layer = forced_layer(mask, GetParam(), runtime_);
  for (int64_t pitch = 24; pitch < 64; ++pitch) {
    std::vector<float> x(static_cast<size_t>(5 * pitch), 7.0F);
    std::vector<float> y(static_cast<size_t>(7 * pitch), 7.0F);
    for (int64_t b = 0; b < 24; ++b) {
      for (int64_t f = 0; f < 5; ++f) x[f * pitch + b] = inputs.x[b * 5 + f];
    }
    layer.run_forward(feature_major<const float>(x.data(), 24, 5, pitch), inputs.values,
                      inputs.bias, feature_major(y.data(), 24, 7, pitch));
    std::vector<float> contents;
    for (int64_t b = 0; b < 24; ++b) {
      for (int64_t f = 0; f < 7; ++f) contents.push_back(y[f * pitch + b]);
    }
    expect_near(contents, reference.y, "y");
  }
  EXPECT_LT(runtime_.stats().kernels, 20);
}

INSTANTIATE_TEST_SUITE_P(Engines, LayerLayouts, ::testing::ValuesIn(linear_engines()),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

}  // namespace
}  // namespace sparsejit::test
