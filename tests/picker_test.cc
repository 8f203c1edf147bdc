// The picker, fed with made-up times: who wins, and after how many calls.
#include "picker.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace sparsejit::test {
namespace {

// Seconds of a call, by candidate; each is off by up to `noise` of itself.
class Race {
 public:
  explicit Race(std::vector<double> seconds, double noise = 0, uint64_t seed = 1)
      : seconds_(std::move(seconds)), noise_(noise), random_(seed) {
    for (size_t i = 0; i < seconds_.size(); ++i) numbers_.push_back(static_cast<int>(i));
    picker.enter(numbers_);
  }

  // Runs until one is chosen; the calls that took.
  int run() {
    int calls = 0;
    while (picker.chosen() == Picker::kUndecided && calls < 1000) {
      const int next = picker.next();
      ran.push_back(next);
      picker.record(next, seconds_[static_cast<size_t>(next)] * factor());
      ++calls;
    }
    return calls;
  }

  Picker picker;
  std::vector<int> ran;

 private:
  double factor() { return 1 + noise_ * std::uniform_real_distribution<double>(-1, 1)(random_); }

  std::vector<double> seconds_;
  std::vector<int> numbers_;
  double noise_;
  std::mt19937_64 random_;
};

TEST(Picker, OneCandidateNeedsNoCall) {
  Race race({3});
  EXPECT_EQ(race.picker.chosen(), 0);
  EXPECT_EQ(race.run(), 0);
}

TEST(Picker, ClearPairsTakeSixCalls) {
  Race race({1, 2});
  EXPECT_EQ(race.run(), 6) << "a warm-up and two samples of each";
  EXPECT_EQ(race.picker.chosen(), 0);
  Race other({2, 1}, 0.05);
  EXPECT_EQ(other.run(), 6);
  EXPECT_EQ(other.picker.chosen(), 1);
}

TEST(Picker, QuiteClearPairsTakeEightCalls) {
  Race race({1.3, 1}, 0.01);
  EXPECT_EQ(race.run(), 8);
  EXPECT_EQ(race.picker.chosen(), 1);
}

TEST(Picker, ClosePairsAreSampledLong) {
  Race race({1, 1.02});
  EXPECT_EQ(race.run(), 64) << "a warm-up and 31 samples of each";
  EXPECT_EQ(race.picker.chosen(), 0);
}

TEST(Picker, ShortCallsAreRepeatedMoreOften) {
  Race clear({1e-6, 2e-6});
  EXPECT_EQ(clear.run(), 18) << "three warm-ups and six samples of each";
  EXPECT_EQ(clear.picker.chosen(), 0);
  Race close({1.02e-6, 1e-6});
  EXPECT_EQ(close.run(), 192);
  EXPECT_EQ(close.picker.chosen(), 1);
}

TEST(Picker, CandidatesRunInTurnWarmUpFirst) {
  Race race({1, 1, 1});
  race.run();
  ASSERT_GE(race.ran.size(), 6U);
  EXPECT_EQ(std::vector<int>(race.ran.begin(), race.ran.begin() + 6),
            (std::vector<int>{0, 1, 2, 0, 1, 2}));
}

TEST(Picker, WarmUpsDoNotCount) {
  Picker picker;
  const std::array<int, 2> both = {0, 1};
  picker.enter(both);
  picker.record(0, 100);  // page faults
  picker.record(1, 0.1);
  EXPECT_EQ(picker.median(0), 0);
  for (int i = 0; i < 2; ++i) {
    picker.record(0, 1);
    picker.record(1, 2);
  }
  EXPECT_EQ(picker.chosen(), 0);
}

TEST(Picker, TheSlowOneIsDroppedWhileTheOthersRunOn) {
  Race race({1, 3, 1.01});
  race.run();
  EXPECT_EQ(race.picker.chosen(), 0);
  EXPECT_EQ(std::count(race.ran.begin(), race.ran.end(), 1), 3);
  EXPECT_EQ(std::count(race.ran.begin(), race.ran.end(), 2), 32);
  EXPECT_EQ(race.picker.median(1), 3) << "what was measured stays to be reported";
}

// An interruption lengthens single calls. One in seven does not change medians, and one call must
// not throw a candidate out.
TEST(Picker, OutliersDropNobody) {
  Picker picker;
  const std::array<int, 2> both = {0, 1};
  picker.enter(both);
  int calls = 0;
  for (; picker.chosen() == Picker::kUndecided && calls < 1000; ++calls) {
    const int next = picker.next();
    picker.record(next, (next == 0 ? 1.0 : 1.3) * (next == 0 && calls % 7 == 4 ? 10 : 1));
  }
  EXPECT_EQ(picker.chosen(), 0);
  EXPECT_GT(calls, 8);
}

// What is chosen is never more than 3% slower than the best, on a machine with 10% of noise.
TEST(Picker, NoisyPairsEndWithTheFasterOneOrAnEqual) {
  for (const double slower : {1.0, 1.03, 1.06, 1.1, 1.2, 1.5}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Race race({slower, 1.0, slower}, 0.1, seed);
      race.run();
      ASSERT_NE(race.picker.chosen(), Picker::kUndecided);
      if (slower <= 1.03) continue;
      EXPECT_EQ(race.picker.chosen(), 1) << slower << " seed " << seed;
    }
  }
}

// The mask changed a little: the samples of those still in the race count on.
TEST(Picker, EnteringAgainKeepsWhatIsKnown) {
  Picker picker;
  const std::array<int, 3> all = {0, 1, 2};
  picker.enter(all);
  for (const int candidate : {0, 1, 2, 0, 1, 2}) picker.record(candidate, 1);
  EXPECT_EQ(picker.chosen(), Picker::kUndecided);
  const std::array<int, 2> two = {0, 2};
  picker.enter(two);
  EXPECT_EQ(picker.median(0), 1);
  EXPECT_EQ(picker.median(1), 0) << "left the race";
  picker.record(0, 1);
  picker.record(2, 9);
  EXPECT_EQ(picker.next(), 0) << "both have three calls";
  const std::array<int, 1> one = {2};
  picker.enter(one);
  EXPECT_EQ(picker.chosen(), 2);
}

TEST(Picker, CallsOfOthersAreIgnored) {
  Race race({1, 2});
  race.picker.record(7, 0.001);
  EXPECT_EQ(race.picker.median(7), 0);
  race.run();
  EXPECT_EQ(race.picker.chosen(), 0);
  race.picker.record(1, 0.001);
  EXPECT_EQ(race.picker.chosen(), 0) << "decided is decided";
  race.picker.restart();
  EXPECT_EQ(race.picker.chosen(), Picker::kUndecided);
}

}  // namespace
}  // namespace sparsejit::test
