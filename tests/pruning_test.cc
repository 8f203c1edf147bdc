// Pruning and growth rules: which weights go, which come, and that ties have one answer.
#include "train/pruning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "sparsejit/layer.h"
#include "support/random.h"

namespace sparsejit::test {
namespace {

using namespace frontend;
using Values = std::vector<float>;

Mask row_mask(const std::vector<uint8_t>& stored) {
  return Mask::from_dense(stored, {1, static_cast<int64_t>(stored.size())});
}

TEST(StoredWeights, LeaveExactlyTheRoundedShareOut) {
  EXPECT_EQ(stored_weights(100, 0.45), 55);
  EXPECT_EQ(stored_weights(1000, 0.0), 1000);
  EXPECT_EQ(stored_weights(1000, 1.0), 0);
  EXPECT_EQ(stored_weights(64 * 1024, 0.95), 65536 - std::llround(0.95 * 65536));
}

TEST(PruneByMagnitude, DropsTheSmallestMagnitudes) {
  const Mask mask = row_mask({1, 1, 0, 1, 1});
  const Values values = {-0.5F, 0.2F, 0.1F, -3.0F};
  EXPECT_EQ(prune_by_magnitude(mask, values, 2), row_mask({1, 0, 0, 0, 1}));
  EXPECT_EQ(prune_by_magnitude(mask, values, 0), row_mask({0, 0, 0, 0, 0}));
}

TEST(PruneByMagnitude, NeverGrows) {
  const Mask mask = row_mask({1, 0, 1, 0});
  const Values values = {1.0F, 2.0F};
  EXPECT_EQ(prune_by_magnitude(mask, values, 2), mask);
  EXPECT_EQ(prune_by_magnitude(mask, values, 3), mask);
}

TEST(PruneByMagnitude, KeepsNanAsTheLargest) {
  const Mask mask = row_mask({1, 1, 1});
  const Values values = {std::numeric_limits<float>::quiet_NaN(), 1.0F, 2.0F};
  EXPECT_EQ(prune_by_magnitude(mask, values, 1), row_mask({1, 0, 0}));
}

// A stored weight of value 0.0 is stored until a rule drops it, and dropped first when one does.
TEST(PruneByMagnitude, StoredZerosCountAsStored) {
  const Mask mask = row_mask({1, 1, 0, 1});
  const Values values = {0.0F, -0.5F, 0.0F};
  EXPECT_EQ(prune_by_magnitude(mask, values, 3), mask);
  EXPECT_EQ(prune_by_magnitude(mask, values, 2).nnz(), 2);
  EXPECT_EQ(prune_by_magnitude(mask, values, 1), row_mask({0, 1, 0, 0}));
}

TEST(PruneByMagnitude, TiesGoToTheLowerPosition) {
  const Mask mask = Mask::random({8, 8}, 0.0, 1);
  const Values values(64, 0.25F);
  const Mask half = prune_by_magnitude(mask, values, 32);
  for (int64_t row = 0; row < 4; ++row) EXPECT_EQ(half.row_begin()[row + 1], 0) << row;
  EXPECT_EQ(half.nnz(), 32);
  Values signs = values;
  for (size_t i = 0; i < signs.size(); i += 3) signs[i] = -signs[i];
  EXPECT_EQ(prune_by_magnitude(mask, signs, 32), half) << "the sign must not matter";
}

TEST(RiglStep, GrowsWhereTheDenseGradientIsLargest) {
  const Mask mask = row_mask({1, 1, 0, 0});
  const Values values = {3.0F, 0.1F};
  const Values gradient = {0.5F, 0.2F, 0.9F, -2.0F};
  const Mask next = rigl_step(mask, values, gradient, 1);
  EXPECT_EQ(next, row_mask({1, 0, 0, 1}));
  EXPECT_EQ(compare_masks(mask, next).move(values), (Values{3.0F, 0.0F}));
}

TEST(RiglStep, MayGrowBackWhatItDropped) {
  const Mask mask = row_mask({1, 1, 0, 0});
  const Values values = {3.0F, 0.1F};
  const Values gradient = {0.5F, 9.0F, 0.9F, -2.0F};
  const Mask next = rigl_step(mask, values, gradient, 1);
  EXPECT_EQ(next, mask);
  EXPECT_FALSE(compare_masks(mask, next).changed());
}

// The largest gradient lies on a weight that stays; it must not be grown a second time.
TEST(RiglStep, LooksAtFreePositionsOnly) {
  const Mask mask = row_mask({1, 1, 0, 0});
  const Values gradient = {100.0F, 0.0F, 1.0F, 2.0F};
  EXPECT_EQ(rigl_step(mask, Values{3.0F, 0.1F}, gradient, 1), row_mask({1, 0, 0, 1}));
}

TEST(RiglStep, TiesGoToTheLowerPosition) {
  const Mask mask = row_mask({0, 1, 1, 0, 0});
  EXPECT_EQ(rigl_step(mask, Values{1.0F, 1.0F}, Values(5, 0.5F), 1), row_mask({1, 0, 1, 0, 0}));
}

TEST(RiglStep, KeepsTheNumberOfStoredWeights) {
  const Mask mask = Mask::random({20, 30}, 0.9, 1);
  for (const int64_t moved : {int64_t{0}, int64_t{1}, int64_t{30}, mask.nnz()}) {
    const Mask next = rigl_step(mask, random_floats(mask.nnz(), 2), random_floats(600, 3), moved);
    EXPECT_EQ(next.nnz(), mask.nnz());
    EXPECT_LE(compare_masks(mask, next).added, moved);
  }
}

TEST(SetStep, MovesExactlyAsManyToFormerlyFreePositions) {
  const Mask mask = Mask::random({20, 30}, 0.9, 1);
  const MaskChange change = compare_masks(mask, set_step(mask, random_floats(60, 2), 18, 7));
  EXPECT_EQ(change.added, 18);
  EXPECT_EQ(change.removed, 18);
}

TEST(SetStep, DropsTheSmallest) {
  const Mask mask = row_mask({1, 1, 1, 0, 0, 0, 0, 0});
  const Mask next = set_step(mask, Values{0.1F, 5.0F, -0.2F}, 2, 3);
  EXPECT_EQ(next.columns()[0], 1);
  EXPECT_EQ(next.nnz(), 3);
  EXPECT_GE(next.columns()[1], 3);
}

TEST(SetStep, IsDecidedByTheSeedAndReachesEveryFreePosition) {
  const Mask mask = row_mask({1, 1, 0, 0, 0, 0});
  const Values values = {1.0F, 2.0F};
  std::set<int32_t> grown;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Mask next = set_step(mask, values, 1, seed);
    EXPECT_EQ(next, set_step(mask, values, 1, seed));
    grown.insert(next.columns()[1]);
  }
  EXPECT_EQ(grown, (std::set<int32_t>{2, 3, 4, 5}));
}

TEST(SetStep, FewFreePositionsMoveOnlyAsMany) {
  const Mask mask = row_mask({1, 1, 1, 0});
  const Mask next = set_step(mask, Values{1.0F, 2.0F, 3.0F}, 3, 1);
  EXPECT_EQ(next, row_mask({0, 1, 1, 1}));
  const Mask full = row_mask({1, 1});
  EXPECT_EQ(set_step(full, Values{1.0F, 2.0F}, 1, 1), full);
}

TEST(Schedules, CubicIsAtFortyPercentHalfwayFromFiveToFortyFive) {
  EXPECT_DOUBLE_EQ(cubic_sparsity(0.05, 0.45, 0.0), 0.05);
  EXPECT_NEAR(cubic_sparsity(0.05, 0.45, 0.5), 0.40, 1e-12);
  EXPECT_DOUBLE_EQ(cubic_sparsity(0.05, 0.45, 1.0), 0.45);
}

TEST(Schedules, CosineFallsFromTheInitialShareToNone) {
  EXPECT_DOUBLE_EQ(cosine_fraction(0.3, 0.0), 0.3);
  EXPECT_NEAR(cosine_fraction(0.3, 0.5), 0.15, 1e-12);
  EXPECT_NEAR(cosine_fraction(0.3, 1.0), 0.0, 1e-12);
}

}  // namespace
}  // namespace sparsejit::test
