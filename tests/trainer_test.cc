// Training runs: deterministic, the same on every engine and number of threads, and they learn.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

TrainOptions small_run(Method method) {
  TrainOptions options;
  options.hidden = {48, 40};
  options.sparsity = 0.8;
  options.method = method;
  options.batch = 100;  // 1438 images: the last batch of an epoch is short
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

TEST(Trainer, LossesAreTheSameBitsOnEngineAndThreads) {
  for (const Method method : {Method::fixed, Method::gmp, Method::rigl, Method::set}) {
    TrainOptions options = small_run(method);
    const std::vector<double> expected = losses(run(options, TrainEngine::jit));
    ASSERT_EQ(expected.size(), 2U);
    EXPECT_EQ(losses(run(options, TrainEngine::jit)), expected) << to_text(method);
    EXPECT_EQ(losses(run(options, TrainEngine::interpreted)), expected) << to_text(method);
    EXPECT_EQ(losses(run(options, TrainEngine::automatic)), expected) << to_text(method);
    options.threads = 2;
    EXPECT_EQ(losses(run(options, TrainEngine::jit)), expected) << to_text(method);
    options.seed = 2;
    EXPECT_NE(losses(run(options, TrainEngine::jit)), expected) << to_text(method);
  }
}

// Two epochs of float32 rounding between OpenBLAS and our order of sums; masks do not change.
TEST(Trainer, DenseEngineFollowsWithinRounding) {
  const TrainOptions options = small_run(Method::fixed);
  const std::vector<double> sparse = losses(run(options, TrainEngine::jit));
  const std::vector<double> dense = losses(run(options, TrainEngine::dense));
  for (size_t i = 0; i < sparse.size(); ++i) EXPECT_NEAR(dense[i], sparse[i], 1e-3 * sparse[i]);
}

TEST(Trainer, LearnsTheDigits) {
  TrainOptions options = small_run(Method::rigl);
  options.epochs = 12;
  const TrainResult result = run(options, TrainEngine::automatic);
  EXPECT_LT(result.epochs.back().loss, result.epochs.front().loss / 2);
  EXPECT_GT(result.epochs.back().test_accuracy, 0.9);
  EXPECT_GT(result.mask_changes, 0);
}

TEST(Trainer, SparsityIsWhatWasAskedFor) {
  for (const Method method : {Method::fixed, Method::gmp, Method::rigl, Method::set}) {
    const TrainResult result = run(small_run(method), TrainEngine::jit);
    ASSERT_EQ(result.hidden.size(), 2U);
    EXPECT_EQ(result.hidden[0].stored, 64 * 48 - 2458) << to_text(method);  // round(0.8 * 3072)
    EXPECT_EQ(result.hidden[1].stored, 48 * 40 / 5) << to_text(method);
  }
}

TEST(Trainer, ContradictoryOptionsAreNamed) {
  const Dataset data = embedded_digits();
  TrainOptions options = small_run(Method::fixed);
  options.batch = 5000;
  expect_error([&] { validate_options(options, data); }, {"--batch", "5000", "1438"});
  options = small_run(Method::fixed);
  options.update_fraction = 0.5;
  expect_error([&] { validate_options(options, data); }, {"--update-fraction", "fixed"});
  options = small_run(Method::gmp);
  options.initial_sparsity = 0.9;
  expect_error([&] { validate_options(options, data); }, {"--initial-sparsity", "0.9", "0.8"});
}

TEST(Trainer, LossThatIsNotFiniteIsAnErrorOfTheUser) {
  TrainOptions options = small_run(Method::fixed);
  options.learning_rate = 1e30;
  expect_error([&] { run(options, TrainEngine::jit); }, {"loss"});
}

}  // namespace
}  // namespace sparsejit::test
