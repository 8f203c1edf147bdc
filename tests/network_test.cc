// Network: what the optimizer does to weights when masks change. The gradient of the only hidden
// unit is made to flow once, then set to zero, so that momentum alone moves the weights.
#include "train/network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

constexpr float kRate = 0.1F;
constexpr float kMomentum = 0.9F;

class NetworkTest : public ::testing::TestWithParam<TrainEngine> {
 protected:
  static TrainOptions options() {
    TrainOptions options;
    options.hidden = {1};
    options.batch = 1;
    options.classes = 2;
    return options;
  }

  std::vector<float> values() const {
    return {network_.values(0).begin(), network_.values(0).end()};
  }

  // One step; `gradient` is that of the first logit. The input opens the hidden unit's ReLU.
  void step(float gradient) {
    for (int64_t i = 0; i < 2; ++i) network_.input().stream(i)[0] = input_[i];
    network_.run_forward(1);
    network_.d_logits().stream(0)[0] = gradient;
    network_.d_logits().stream(1)[0] = 0.0F;
    network_.run_backward(1);
    network_.update_weights(kRate, kMomentum);
  }

  Runtime runtime_{with_threads(1)};
  Network network_{options(), GetParam(), 0.0, {1, 2}, runtime_};
  // Signs of the initial weights: the unit's input is then the sum of their magnitudes.
  const std::vector<float> input_ = {std::copysign(1.0F, network_.values(0)[0]),
                                     std::copysign(1.0F, network_.values(0)[1])};
};

const Mask kBoth = Mask::from_smtx("1, 2, 2\n0 2\n0 1\n");
const Mask kFirst = Mask::from_smtx("1, 2, 1\n0 1\n0\n");

TEST_P(NetworkTest, PrunedWeightStaysGoneAndMomentumFollowsTheOther) {
  const std::vector<float> before = values();
  step(1.0F);
  const float first_step = values()[0] - before[0];
  ASSERT_NE(first_step, 0.0F) << "no gradient reached the weight";
  const MaskChange change = network_.set_mask(0, kFirst);
  EXPECT_EQ(change.removed, 1);
  for (int i = 1; i <= 3; ++i) {
    const float at = values()[0];
    step(0.0F);
    ASSERT_EQ(values().size(), 1U);
    EXPECT_NEAR(values()[0] - at, first_step * std::pow(kMomentum, i), 1e-6F);
  }
}

TEST_P(NetworkTest, RegrownWeightStartsFresh) {
  step(1.0F);
  network_.set_mask(0, kFirst);
  step(0.0F);
  const float kept = values()[0];
  network_.set_mask(0, kBoth);
  EXPECT_EQ(values(), (std::vector<float>{kept, 0.0F}));
  step(0.0F);
  EXPECT_EQ(values()[1], 0.0F) << "old momentum moved the regrown weight";
  EXPECT_NE(values()[0], kept) << "the kept weight lost its momentum";
}

TEST_P(NetworkTest, StoredZeroTrains) {
  network_.set_mask(0, kFirst);
  network_.set_mask(0, kBoth);
  ASSERT_EQ(values()[1], 0.0F);
  step(1.0F);
  EXPECT_NE(values()[1], 0.0F);
  EXPECT_EQ(network_.mask(0), kBoth);
}

TEST_P(NetworkTest, DenseGradientCoversPositionsThatAreNotStored) {
  network_.set_mask(0, kFirst);
  step(1.0F);
  const auto gradient = network_.dense_gradient(0, 1);
  ASSERT_EQ(gradient.size(), 2U);
  EXPECT_NE(gradient[0], 0.0F);
  EXPECT_FLOAT_EQ(gradient[1] * input_[0], gradient[0] * input_[1]);
}

INSTANTIATE_TEST_SUITE_P(Engines, NetworkTest,
                         ::testing::Values(TrainEngine::jit, TrainEngine::interpreted,
                                           TrainEngine::dense),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

}  // namespace
}  // namespace sparsejit::test
