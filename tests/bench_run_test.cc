// One workload of `bench` from mask to results.
#include "bench/bench_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sparsejit::test {
namespace {

using namespace frontend;

BenchOptions small_run() {
  BenchTexts texts;
  texts.shapes = {"24x40"};
  texts.batches = "16";
  texts.sparsities = "0.9";
  texts.engines = "native,interpreted,paper_loop";
  texts.states = "hot,cold";
  texts.repetitions = "2";
  texts.min_time = "0";
  return parse_bench_options(texts);
}

// The kind of code that is faster cold may be another one than hot.
TEST(BenchRun, ContendersAreMadeAndVerifiedForEachStateOfTheCaches) {
  const BenchOptions options = small_run();
  std::vector<std::string> steps;
  const auto note_step = [&](const std::string& step) {
    const std::string what = step.substr(step.rfind(": ") + 2);
    if (steps.empty() || steps.back() != what) steps.push_back(what);
  };
  run_workload(options.workloads.at(0), options, note_step);
  const std::vector<std::string> expected{"compiling and verifying", "timing, caches hot",
                                          "compiling and verifying", "timing, caches cold"};
  ASSERT_GE(steps.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.rbegin(), expected.rend(), steps.rbegin()));
}

// The evictor has a layer of its own, which compiles when it first runs.
TEST(BenchRun, EnginesChooseWithCachesAsTheyAreTimed) {
  const BenchOptions options = small_run();
  Problem problem = make_problem(options.workloads.at(0));
  Runtime runtime({.threads = 1});
  if (!runtime.machine().avx2_fma) GTEST_SKIP() << "AVX2 is needed";
  Evictor evictor(runtime);
  const auto compiled_after = [&](Evictor* caches) {
    EXPECT_TRUE(make_layer_contender(problem, BenchEngine::native, runtime, caches).contender);
    return runtime.stats().cache_misses;
  };
  const int64_t compiled = compiled_after(nullptr);
  EXPECT_EQ(compiled_after(nullptr), compiled);
  EXPECT_GT(compiled_after(&evictor), compiled);
}

TEST(BenchRun, EveryLineIsThereOnceAndOnePickAPass) {
  const BenchOptions options = small_run();
  const std::vector<WorkloadResults> groups =
      run_workload(options.workloads.at(0), options, [](const std::string&) {});
  ASSERT_EQ(groups.size(), 1U);
  std::set<std::tuple<CacheState, TimedPass, BenchEngine>> lines;
  std::set<std::pair<CacheState, TimedPass>> picks;
  for (const BenchResult& result : groups[0].results) {
    EXPECT_TRUE(lines.insert({result.state, result.pass, result.engine}).second);
    EXPECT_GT(result.median_ms, 0);
    EXPECT_LT(result.max_rel_error, kMaxRelError);
    if (!result.chosen) continue;
    EXPECT_TRUE(picks.insert({result.state, result.pass}).second);
  }
  EXPECT_EQ(lines.size() + groups[0].skipped.size() * 6, 18U);
  for (const SkippedEngine& skipped : groups[0].skipped) EXPECT_FALSE(skipped.reason.empty());
}

}  // namespace
}  // namespace sparsejit::test
