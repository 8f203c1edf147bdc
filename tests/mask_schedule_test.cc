// Mask schedules: when updates happen, and where gradual pruning ends however short the run.
#include "train/mask_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"
#include "support/random.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

TrainOptions options_for(Method method) {
  TrainOptions options;
  options.method = method;
  return options;
}

std::vector<int64_t> update_steps(const MaskSchedule& schedule, int64_t steps) {
  std::vector<int64_t> result;
  for (int64_t done = 1; done <= steps; ++done) {
    const std::optional<int64_t> update = update_due(schedule, done);
    if (!update) continue;
    EXPECT_EQ(*update, static_cast<int64_t>(result.size()));
    result.push_back(done);
  }
  return result;
}

// Sparsity of a 40x50 layer after the whole run.
double final_sparsity(const MaskSchedule& schedule, int64_t steps) {
  Mask mask = Mask::random({40, 50}, schedule.initial_sparsity, 1);
  for (int64_t done = 1; done <= steps; ++done) {
    const std::optional<int64_t> update = update_due(schedule, done);
    if (!update) continue;
    mask = next_mask(schedule, *update, mask, random_floats(mask.nnz(), 5), {}, 1);
  }
  return mask.sparsity();
}

TEST(MaskSchedule, UpdatesComeAtFirstAndThenEveryInterval) {
  TrainOptions options = options_for(Method::rigl);
  options.update_start = 2;
  options.update_interval = 3;
  options.update_end = 8;
  const MaskSchedule schedule = plan_mask_schedule(options, 20);
  EXPECT_EQ(update_steps(schedule, 20), (std::vector<int64_t>{2, 5, 8}));
}

TEST(MaskSchedule, FixedMasksNeverChange) {
  const MaskSchedule schedule = plan_mask_schedule(options_for(Method::fixed), 100);
  EXPECT_TRUE(update_steps(schedule, 100).empty());
}

TEST(MaskSchedule, GradualPruningEndsExactlyAtTheSparsityAskedFor) {
  TrainOptions options = options_for(Method::gmp);
  options.initial_sparsity = 0.05;
  options.sparsity = 0.45;
  for (const int64_t steps : {1, 2, 3, 10, 17, 100, 1000}) {
    const MaskSchedule schedule = plan_mask_schedule(options, steps);
    EXPECT_DOUBLE_EQ(final_sparsity(schedule, steps), std::round(0.45 * 2000) / 2000) << steps;
  }
}

TEST(MaskSchedule, GradualPruningOfAShorterRunThanPlannedEndsThereToo) {
  TrainOptions options = options_for(Method::gmp);
  options.sparsity = 0.9;
  options.update_start = 3;
  options.update_interval = 4;
  options.update_end = 1000;
  for (const int64_t steps : {3, 6, 7, 25}) {
    const MaskSchedule schedule = plan_mask_schedule(options, steps);
    EXPECT_DOUBLE_EQ(final_sparsity(schedule, steps), 0.9) << steps;
  }
}

TEST(MaskSchedule, GradualPruningFollowsTheCubic) {
  TrainOptions options = options_for(Method::gmp);
  options.initial_sparsity = 0.05;
  options.sparsity = 0.45;
  options.update_start = 1;
  options.update_interval = 1;
  options.update_end = 4;
  const MaskSchedule schedule = plan_mask_schedule(options, 10);
  Mask mask = Mask::random({40, 50}, 0.05, 1);
  std::vector<double> sparsities;
  for (int64_t update = 0; update < schedule.updates; ++update) {
    mask = next_mask(schedule, update, mask, random_floats(mask.nnz(), 5), {}, 1);
    sparsities.push_back(mask.sparsity());
  }
  ASSERT_EQ(sparsities.size(), 4U);
  EXPECT_NEAR(sparsities[1], 0.40, 1e-3) << "halfway";
  EXPECT_DOUBLE_EQ(sparsities[3], 0.45);
}

TEST(MaskSchedule, MovingMethodsKeepTheNumberOfStoredWeights) {
  for (const Method method : {Method::rigl, Method::set}) {
    const MaskSchedule schedule = plan_mask_schedule(options_for(method), 100);
    Mask mask = Mask::random({40, 50}, 0.95, 1);
    for (int64_t update = 0; update < schedule.updates; ++update) {
      const Mask next = next_mask(schedule, update, mask, random_floats(mask.nnz(), 5),
                                  random_floats(2000, 6), static_cast<uint64_t>(update));
      EXPECT_EQ(next.nnz(), mask.nnz());
      mask = next;
    }
  }
}

TEST(MaskSchedule, ImpossibleTimesAreNamed) {
  TrainOptions options = options_for(Method::rigl);
  options.update_start = 50;
  expect_error([&] { plan_mask_schedule(options, 20); }, {"--update-start", "50", "20"});
  options.update_end = 10;
  expect_error([&] { plan_mask_schedule(options, 100); }, {"--update-end", "10", "50"});
}

}  // namespace
}  // namespace sparsejit::test
