// Networks of convolutions: gradients against finite differences, engines against each other, what
// mask updates keep, and that they learn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/expect_error.h"
#include "support/runtimes.h"
#include "train/activations.h"
#include "train/network.h"
#include "train/random.h"
#include "train/trainer.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

constexpr ImageSize kImage{6, 5};
constexpr int64_t kSamples = 3;
const std::vector<uint8_t> kLabels = {0, 2, 1};

TrainOptions tiny_net() {
  TrainOptions options;
  options.net = Net::cnn;
  options.channels = {3, 4, 4};
  options.strides = {1, 2, 1};
  options.classes = 3;
  options.batch = kSamples + 1;
  return options;
}

// A network with a batch of noise in it.
class TinyNetwork {
 public:
  explicit TinyNetwork(TrainEngine engine, int threads = 1)
      : runtime_(with_threads(threads)), network_(tiny_net(), engine, 0.5, kImage, runtime_) {
    Random random(5);
    float* pixels = network_.input().stream(0);
    for (int64_t i = 0; i < kSamples * kImage.height * kImage.width; ++i) {
      pixels[i] = random.symmetric(1.0F);
    }
  }

  Network& network() { return network_; }

  double loss() {
    network_.run_forward(kSamples);
    return softmax_cross_entropy(network_.logits(), kLabels, &network_.d_logits()).loss /
           static_cast<double>(kSamples);
  }

  // Of all layers, one after the other.
  std::vector<float> gradients() {
    loss();
    network_.run_backward(kSamples);
    std::vector<float> all;
    for (size_t layer = 0; layer <= network_.hidden_layers(); ++layer) {
      const auto gradient = network_.d_values(layer);
      all.insert(all.end(), gradient.begin(), gradient.end());
    }
    return all;
  }

 private:
  Runtime runtime_;
  Network network_;
};

// Central differences: rounding of the float32 logits alone makes an error of about 1e-4. Steps are
// small, so that no unit's ReLU opens or shuts on the way.
TEST(ConvNetwork, GradientsMatchFiniteDifferences) {
  constexpr float kStep = 1e-3F;
  TinyNetwork tiny(TrainEngine::dense);
  const std::vector<float> gradients = tiny.gradients();
  size_t index = 0;
  for (size_t layer = 0; layer <= tiny.network().hidden_layers(); ++layer) {
    for (float& value : tiny.network().values(layer)) {
      const float before = value;
      value = before + kStep;
      const double above = tiny.loss();
      value = before - kStep;
      const double below = tiny.loss();
      value = before;
      ASSERT_NEAR(gradients[index++], (above - below) / (2 * kStep), 5e-4) << "layer " << layer;
    }
  }
  EXPECT_EQ(index, gradients.size());
}

TEST(ConvNetwork, EnginesAgreeOnGradients) {
  const std::vector<float> dense = TinyNetwork(TrainEngine::dense).gradients();
  const std::vector<float> native = TinyNetwork(TrainEngine::jit).gradients();
  ASSERT_EQ(native.size(), dense.size());
  for (size_t i = 0; i < dense.size(); ++i) EXPECT_NEAR(native[i], dense[i], 1e-5);
  EXPECT_EQ(TinyNetwork(TrainEngine::interpreted).gradients(), native);
  EXPECT_EQ(TinyNetwork(TrainEngine::jit, 2).gradients(), native);
}

TEST(ConvNetwork, DenseGradientHasTheStoredOnesAndPassesTheRelu) {
  for (const TrainEngine engine : {TrainEngine::jit, TrainEngine::dense}) {
    TinyNetwork tiny(engine);
    tiny.gradients();
    Network& network = tiny.network();
    for (size_t layer = 0; layer < network.hidden_layers(); ++layer) {
      const Mask& mask = network.mask(layer);
      const auto dense = network.dense_gradient(layer, kSamples);
      for (int64_t row = 0, i = 0; row < mask.rows(); ++row) {
        for (; i < mask.row_begin()[static_cast<size_t>(row) + 1]; ++i) {
          const auto at =
              static_cast<size_t>(row * mask.cols() + mask.columns()[static_cast<size_t>(i)]);
          EXPECT_NEAR(network.d_values(layer)[static_cast<size_t>(i)], dense[at], 1e-5);
        }
      }
    }
  }
}

class ConvMaskTest : public ::testing::TestWithParam<TrainEngine> {};

TEST_P(ConvMaskTest, UpdatesKeepValuesAndMomentum) {
  constexpr size_t kLayer = 1;
  TinyNetwork tiny(GetParam());
  Network& network = tiny.network();
  const auto values = [&] {
    return std::vector<float>(network.values(kLayer).begin(), network.values(kLayer).end());
  };
  const std::vector<float> start = values();
  tiny.gradients();
  network.update_weights(0.1F, 0.5F);
  const std::vector<float> before = values();
  const Mask old_mask = network.mask(kLayer);
  const Mask new_mask = Mask::random(old_mask.shape(), 0.6, 9);
  const MaskChange change = network.set_mask(kLayer, new_mask);
  ASSERT_GT(change.kept, 0);
  ASSERT_GT(change.added, 0);
  const std::vector<float> moved = values();
  tiny.loss();
  for (int64_t c = 0; c < 3; ++c) std::fill_n(network.d_logits().stream(c), kSamples, 0.0F);
  network.run_backward(kSamples);
  network.update_weights(0.1F, 0.5F);
  const std::vector<float> after = values();
  for (size_t i = 0; i < moved.size(); ++i) {
    const int64_t old_index = change.old_index[i];
    if (old_index < 0) {
      EXPECT_EQ(moved[i], 0.0F);
      EXPECT_EQ(after[i], 0.0F) << "a new weight has momentum";
      continue;
    }
    const auto at = static_cast<size_t>(old_index);
    EXPECT_EQ(moved[i], before[at]);
    EXPECT_NEAR(after[i] - moved[i], 0.5F * (before[at] - start[at]), 1e-6F);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, ConvMaskTest,
                         ::testing::Values(TrainEngine::jit, TrainEngine::interpreted,
                                           TrainEngine::dense),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

TrainOptions small_run(Method method) {
  TrainOptions options;
  options.net = Net::cnn;
  options.channels = {12, 20};
  options.sparsity = 0.8;
  options.method = method;
  options.batch = 60;  // 1438 images: the last batch of an epoch is short
  options.epochs = 2;
  return options;
}

TrainResult run(const TrainOptions& options, TrainEngine engine) {
  const Dataset data = embedded_digits();
  validate_options(options, data);
  const int64_t steps = steps_per_epoch(options, data) * options.epochs;
  TrainObserver silent;
  return train(data, options, plan_mask_schedule(options, steps), engine, silent);
}

std::vector<double> losses(const TrainResult& result) {
  std::vector<double> losses;
  for (const EpochReport& epoch : result.epochs) losses.push_back(epoch.loss);
  return losses;
}

TEST(ConvTrainer, LossesAreTheSameBitsOnEngineAndThreads) {
  for (const Method method : {Method::fixed, Method::gmp, Method::rigl, Method::set}) {
    TrainOptions options = small_run(method);
    const std::vector<double> expected = losses(run(options, TrainEngine::jit));
    EXPECT_EQ(losses(run(options, TrainEngine::interpreted)), expected) << to_text(method);
    EXPECT_EQ(losses(run(options, TrainEngine::automatic)), expected) << to_text(method);
    options.threads = 2;
    EXPECT_EQ(losses(run(options, TrainEngine::jit)), expected) << to_text(method);
    options.seed = 2;
    EXPECT_NE(losses(run(options, TrainEngine::jit)), expected) << to_text(method);
  }
}

TEST(ConvTrainer, DenseEngineFollowsWithinRounding) {
  const TrainOptions options = small_run(Method::fixed);
  const std::vector<double> sparse = losses(run(options, TrainEngine::jit));
  const std::vector<double> dense = losses(run(options, TrainEngine::dense));
  for (size_t i = 0; i < sparse.size(); ++i) EXPECT_NEAR(dense[i], sparse[i], 1e-3 * sparse[i]);
}

TEST(ConvTrainer, LearnsTheDigitsAtNinetyPercent) {
  TrainOptions options = small_run(Method::rigl);
  options.channels = {24, 48, 48};
  options.sparsity = 0.9;
  options.learning_rate = 0.1;
  options.epochs = 15;
  const TrainResult result = run(options, TrainEngine::automatic);
  EXPECT_GT(result.epochs.back().test_accuracy, 0.9);
  EXPECT_GT(result.mask_changes, 0);
}

TEST(ConvTrainer, FirstConvolutionStaysFullAndOthersAreAsSparseAsAskedFor) {
  for (const Method method : {Method::fixed, Method::gmp, Method::rigl, Method::set}) {
    const TrainResult result = run(small_run(method), TrainEngine::jit);
    ASSERT_EQ(result.hidden.size(), 2U);
    EXPECT_EQ(result.hidden[0].stored, 12 * 9) << to_text(method);
    EXPECT_EQ(result.hidden[1].stored, 20 * 12 * 9 / 5) << to_text(method);
  }
}

TEST(Architecture, LayersReadWhatTheLastOnesWrite) {
  TrainOptions options = small_run(Method::fixed);
  options.channels = {32, 64, 64};
  EXPECT_EQ(to_text(plan_layers(options, {28, 28})),
            "28x28 - 32 of 28x28 - 64 of 14x14 - 64 of 14x14 - mean - 10");
  options.strides = {2, 2, 3};
  EXPECT_EQ(to_text(plan_layers(options, {8, 8})),
            "8x8 - 32 of 4x4 - 64 of 2x2 - 64 of 1x1 - mean - 10");
  EXPECT_EQ(to_text(plan_layers(TrainOptions{}, {8, 8})), "64-1024-1024-10");
}

TEST(Architecture, ContradictoryOptionsAreNamed) {
  TrainOptions options = small_run(Method::fixed);
  options.strides = {1, 2, 1};
  expect_error([&] { plan_layers(options, {8, 8}); }, {"--strides", "3", "2", "12,20"});
  options = small_run(Method::fixed);
  options.hidden = {16};
  expect_error([&] { plan_layers(options, {8, 8}); }, {"--hidden", "cnn", "mlp"});
  options = small_run(Method::fixed);
  options.channels = {16};
  expect_error([&] { plan_layers(options, {8, 8}); }, {"--channels", "16", "two"});
  options = TrainOptions{};
  options.channels = {16, 32};
  expect_error([&] { plan_layers(options, {8, 8}); }, {"--channels", "mlp", "cnn"});
  options = small_run(Method::fixed);
  options.channels = {int64_t{1} << 20, 1000};
  expect_error([&] { plan_layers(options, {8, 8}); }, {"--channels", "1000", "weights"});
}

TEST(Architecture, ActivationsThatDoNotFitTheMachineAreNamed) {
  TrainOptions options = small_run(Method::fixed);
  options.channels = {1 << 24, 1};
  expect_error([&] { validate_options(options, embedded_digits()); }, {"--batch", "60", "GiB"});
}

}  // namespace
}  // namespace sparsejit::test
