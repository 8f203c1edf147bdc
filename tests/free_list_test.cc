// FreeList: best fit, coalescing, and a random history against a plain array of bytes.
#include "free_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace sparsejit::test {
namespace {

TEST(FreeList, GivesAllBytesOnceAndNoMore) {
  FreeList list(100);
  EXPECT_TRUE(list.all_free());
  EXPECT_EQ(list.allocate(60), 0);
  EXPECT_EQ(list.allocate(41), std::nullopt);
  EXPECT_EQ(list.allocate(40), 60);
  EXPECT_EQ(list.allocate(1), std::nullopt);
  EXPECT_EQ(list.free_bytes(), 0);
  EXPECT_EQ(list.largest_gap(), 0);
}

TEST(FreeList, TakesTheSmallestGapThatFits) {
  FreeList list(100);
  for (const int64_t size : {30, 10, 12, 10, 38}) list.allocate(size);
  list.release(0, 30);
  list.release(40, 12);
  EXPECT_EQ(list.largest_gap(), 30);
  EXPECT_EQ(list.allocate(11), 40);
  EXPECT_EQ(list.allocate(13), 0);
}

TEST(FreeList, NeighbouringGapsBecomeOneInEveryOrder) {
  std::vector<int64_t> order = {0, 1, 2, 3};
  do {
    FreeList list(40);
    for (int i = 0; i < 4; ++i) list.allocate(10);
    for (const int64_t i : order) list.release(i * 10, 10);
    EXPECT_TRUE(list.all_free());
    EXPECT_EQ(list.largest_gap(), 40);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(FreeList, RandomHistoryNeverOverlapsAndLosesNothing) {
  constexpr int64_t kSize = 500;
  FreeList list(kSize);
  std::vector<bool> used(kSize, false);
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0 && !ranges.empty()) {
      std::swap(ranges[random() % ranges.size()], ranges.back());
      const auto [offset, size] = ranges.back();
      ranges.pop_back();
      list.release(offset, size);
      std::fill_n(used.begin() + offset, size, false);
    } else {
      const int64_t size = 1 + static_cast<int64_t>(random() % 40);
      const int64_t largest = list.largest_gap();
      const std::optional<int64_t> offset = list.allocate(size);
      ASSERT_EQ(offset.has_value(), largest >= size);
      if (!offset.has_value()) continue;
      ASSERT_EQ(std::count(used.begin() + *offset, used.begin() + *offset + size, true), 0);
      std::fill_n(used.begin() + *offset, size, true);
      ranges.emplace_back(*offset, size);
    }
    ASSERT_EQ(list.free_bytes(), std::count(used.begin(), used.end(), false));
  }
}

}  // namespace
}  // namespace sparsejit::test
