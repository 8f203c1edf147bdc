// Runtimes that keep picks in a file, and layers that start with a remembered choice.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "picks_file.h"
#include "runtime_impl.h"
#include "support/child.h"
#include "support/expect_error.h"
#include "support/layer_case.h"
#include "support/picks_folder.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

using RuntimePicks = PicksFolder;

TEST_F(RuntimePicks, AreReadAtTheStartAndWrittenAtTheEnd) {
  {
    Runtime runtime(options());
    runtime.impl()->picks.remember({"key", "native"});
    EXPECT_EQ(files(), 0) << "too early";
  }
  EXPECT_EQ(content(), std::string(kPicksFirstLine) + "native\tkey\n");
  Runtime next(options());
  EXPECT_EQ(next.impl()->picks.find("key"), "native");
  EXPECT_TRUE(log_.empty());
}

TEST_F(RuntimePicks, AreWrittenWhenAskedFor) {
  Runtime runtime(options());
  runtime.impl()->picks.remember({"key", "native"});
  EXPECT_TRUE(runtime.save_picks());
  EXPECT_EQ(content(), std::string(kPicksFirstLine) + "native\tkey\n");
  Runtime without(with_threads(1));
  EXPECT_FALSE(without.save_picks()) << "there is no file";
}

TEST_F(RuntimePicks, ARuntimeThatLearnedNothingWritesNothing) {
  { Runtime runtime(options()); }
  EXPECT_EQ(files(), 0);
}

TEST_F(RuntimePicks, MalformedFilesGiveOneWarningAndAreReplaced) {
  write(std::string(kPicksFirstLine) + "nonsense\n");
  {
    Runtime runtime(options());
    runtime.impl()->picks.remember({"key", "native"});
  }
  EXPECT_EQ(log_.size(), 1U);
  EXPECT_EQ(content(), std::string(kPicksFirstLine) + "native\tkey\n");
}

TEST_F(RuntimePicks, ForeignFilesGiveOneWarningAndAreKept) {
  const std::string text = "my diary\nof\tmany days\n";
  write(text);
  {
    Runtime runtime(options());
    runtime.impl()->picks.remember({"key", "native"});
    EXPECT_FALSE(runtime.save_picks());
  }
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_.front().find(path()), std::string::npos);
  EXPECT_EQ(content(), text);
  EXPECT_EQ(files(), 1);
}

TEST_F(RuntimePicks, TwoRuntimesKeepEachOthersNews) {
  Runtime first(options());
  Runtime second(options());
  first.impl()->picks.remember({"first", "native"});
  second.impl()->picks.remember({"second", "interpreted"});
  EXPECT_TRUE(first.save_picks());
  EXPECT_TRUE(second.save_picks());
  EXPECT_EQ(read_picks_file(path()).picks,
            (std::vector<Pick>{{"second", "interpreted"}, {"first", "native"}}));
}

TEST_F(RuntimePicks, WritersAtTheSameTimeLeaveAWholeFile) {
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) EXPECT_EQ(read_picks_file(path()).problem, "");
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      RuntimeOptions mine = with_threads(1);
      mine.picks_file = path();
      Runtime runtime(mine);
      for (int i = 0; i < 30; ++i) {
        runtime.impl()->picks.remember({fmt::format("key {} {}", writer, i), "native"});
        EXPECT_TRUE(runtime.save_picks());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  stop = true;
  reader.join();
  EXPECT_GE(read_picks_file(path()).picks.size(), 30U);
  EXPECT_EQ(files(), 1);
}

TEST_F(RuntimePicks, ForkedChildrenMayRememberAndSave) {
  if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  Runtime runtime(options());
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    for (int i = 0; !stop; ++i) {
      runtime.impl()->picks.remember({fmt::format("key {}", i % 100), "native"});
    }
  });
  for (int i = 0; i < 20; ++i) {
    expect_in_child([&] {
      runtime.impl()->picks.remember({"child", "native"});
      return runtime.save_picks();
    });
  }
  stop = true;
  busy.join();
  EXPECT_EQ(read_picks_file(path()).problem, "");
}

TEST(RuntimePicksOptions, ImpossibleBoundsAreNamed) {
  RuntimeOptions options;
  options.remembered_picks = -3;
  expect_error([&] { Runtime runtime(options); }, {"remembered_picks", "-3", "65536"});
}

class RememberingLayers : public PicksFolder {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    PicksFolder::SetUp();
  }

  static Layer make_layer(Runtime& runtime, uint64_t seed, LayerOptions layer_options = {}) {
    layer_options.runtime = &runtime;
    return compile_layer(Mask::random({64, 64}, 0.9, seed), layer_options);
  }
  static LayerCase case_of(const Layer& layer) { return {.mask = layer.mask(), .batch = 24}; }
  static void run(const Layer& layer, int calls) {
    for (int i = 0; i < calls; ++i) {
      expect_matches_reference(case_of(layer), run_layer(layer, case_of(layer)));
    }
  }
  static void expect_remembered(const Layer& layer) {
    for (const KernelReport& report : layer.report()) {
      EXPECT_EQ(report.reason, "remembered");
      EXPECT_NE(report.engine, Engine::automatic);
      EXPECT_EQ(report.native_seconds, 0) << "clocks were read";
    }
  }
};

TEST_F(RememberingLayers, AFurtherLayerStartsWithTheChoice) {
  Runtime runtime(with_threads(1));
  const Layer first = make_layer(runtime, 1);
  run(first, kCallsToPick);
  const Layer second = make_layer(runtime, 2);
  run(second, 2);
  expect_remembered(second);
  ASSERT_EQ(first.report().size(), second.report().size());
  for (size_t i = 0; i < first.report().size(); ++i) {
    EXPECT_EQ(first.report()[i].engine, second.report()[i].engine);
    EXPECT_EQ(first.report()[i].reason.find("measured"), 0U) << first.report()[i].reason;
  }
}

TEST_F(RememberingLayers, AMaskOfAnotherDensitySeenBeforeIsNotMeasuredAgain) {
  Runtime runtime(with_threads(1));
  Layer layer = make_layer(runtime, 1);
  run(layer, kCallsToPick);
  layer.set_mask(Mask::random({64, 64}, 0.5, 1));
  run(layer, kCallsToPick);
  layer.set_mask(Mask::random({64, 64}, 0.9, 2));
  run(layer, 1);
  expect_remembered(layer);
}

TEST_F(RememberingLayers, AnotherBatchIsMeasured) {
  Runtime runtime(with_threads(1));
  run(make_layer(runtime, 1), kCallsToPick);
  const Layer layer = make_layer(runtime, 1);
  run_layer(layer, {.mask = layer.mask(), .batch = 25});
  for (const KernelReport& report : layer.report()) EXPECT_EQ(report.reason, "still measuring");
}

TEST_F(RememberingLayers, TheFileServesTheNextProcess) {
  {
    Runtime runtime(options());
    run(make_layer(runtime, 1), kCallsToPick);
  }
  EXPECT_EQ(read_picks_file(path()).picks.size(), 2U) << "forward and backward";
  Runtime next(options());
  const Layer layer = make_layer(next, 2);
  run(layer, 1);
  expect_remembered(layer);
}

// As from a file of a runtime whose candidates were others, or edited.
TEST_F(RememberingLayers, NamesThatAreNoCandidateAreMeasuredInstead) {
  {
    Runtime runtime(options());
    run(make_layer(runtime, 1), kCallsToPick);
  }
  std::vector<Pick> picks = read_picks_file(path()).picks;
  for (Pick& pick : picks) pick.candidate = "magic";
  EXPECT_EQ(write_picks_file(path(), picks), "");
  Runtime next(options());
  const Layer layer = make_layer(next, 2);
  run(layer, kCallsToPick);
  for (const KernelReport& report : layer.report()) {
    EXPECT_NE(report.engine, Engine::automatic);
    EXPECT_NE(report.reason, "remembered");
  }
}

TEST_F(RememberingLayers, DeterministicLayersNeitherUseNorAddPicks) {
  Runtime runtime(with_threads(1));
  run(make_layer(runtime, 1, {.deterministic = true}), kCallsToPick);
  EXPECT_TRUE(runtime.impl()->picks.picks().empty());
  run(make_layer(runtime, 1), kCallsToPick);
  EXPECT_EQ(runtime.impl()->picks.picks().size(), 2U);
  const Layer layer = make_layer(runtime, 1, {.deterministic = true});
  run(layer, 1);
  for (const KernelReport& report : layer.report()) EXPECT_NE(report.reason, "remembered");
}

// What was remembered as native runs on what there is where no code can be generated.
TEST_F(RememberingLayers, AChoiceThatCannotBeMadeFallsBack) {
  std::vector<Pick> picks;
  {
    Runtime runtime(with_threads(1));
    run(make_layer(runtime, 1), kCallsToPick);
    picks = runtime.impl()->picks.picks();
  }
  Runtime runtime(with_code_budget(0));
  for (const Pick& pick : picks) runtime.impl()->picks.remember({pick.key, "native"});
  const Layer layer = make_layer(runtime, 1);
  run(layer, 3);
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.engine, Engine::interpreted);
    EXPECT_NE(report.reason.find("code budget"), std::string::npos) << report.reason;
  }
}

}  // namespace
}  // namespace sparsejit::test
