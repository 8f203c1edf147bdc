// From candidates to a choice, as a layer reports it: the short list, the table of explain(), and
// the words for why.
#include <gtest/gtest.h>

#include "support/layer_case.h"
#include "support/plans.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class Candidates : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }

  // Generated code comes from memory on such a machine.
  static MachineModel tiny_caches() {
    MachineModel machine = made_up_machine(16 << 10);
    machine.l3_bytes = 16 << 10;
    return machine;
  }

  static const CandidateReport& find(const KernelReport& report, const std::string& name) {
    static const CandidateReport kNone;
    for (const CandidateReport& candidate : report.candidates) {
      if (candidate.name == name) return candidate;
    }
    ADD_FAILURE() << "no candidate " << name;
    return kNone;
  }
};

TEST_F(Candidates, FarSlowerOnesAreNeitherMadeNorTried) {
  Runtime runtime(with_machine(made_up_machine()));
  LayerCase c = {.mask = Mask::random({400, 300}, 0.98, 1), .batch = 128};
  c.arrange(Arrangement::feature_major);
  const Layer layer = forced_layer(c.mask, Engine::automatic, runtime);
  expect_matches_reference(c, run_layer(layer, c));
  EXPECT_EQ(runtime.stats().cache_misses, 2) << "one kernel a pass\n" << layer.explain();
  for (const KernelReport& report : layer.report()) {
    if (report.pass != Pass::forward) continue;
    const CandidateReport& native = find(report, "native");
    const CandidateReport& tiled = find(report, "native tiled");
    EXPECT_GT(tiled.predicted_seconds, 1.25 * native.predicted_seconds);
    EXPECT_NE(tiled.note.find("x the time of native"), std::string::npos) << tiled.note;
    EXPECT_FALSE(tiled.runs);
  }
}

TEST_F(Candidates, WhatWasAskedForIsMadeAnyhow) {
  Runtime runtime(with_machine(tiny_caches()));
  const LayerCase c = {.mask = Mask::random({200, 300}, 0.5, 1), .batch = 9};
  const Layer layer = forced_layer(c.mask, Engine::native, runtime);
  run_layer(layer, c);
  expect_ran_on(layer, Engine::native);
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.reason.find("asked for"), 0U) << report.reason;
    EXPECT_EQ(report.candidate, "native table");
  }
}

// Forward, unrolled code is predicted to be the fastest, by so much that tables would not be made,
// but there is no room for it.
TEST_F(Candidates, TablesTakeOverWhereTheCodeBudgetRefusesUnrolledCode) {
  MachineModel machine = made_up_machine(16 << 20);
  RuntimeOptions options = with_machine(machine);
  LayerCase c = {.mask = Mask::random({1024, 1024}, 0.99, 1), .batch = 24};
  c.arrange(Arrangement::feature_major);
  const auto candidate_of = [&](const Layer& layer) {
    for (int call = 0; call < kCallsToPick; ++call) run_layer(layer, c);
    expect_matches_reference(c, run_layer(layer, c));
    std::vector<std::string> names;
    for (const KernelReport& report : layer.report()) names.push_back(report.candidate);
    return names;
  };
  options.code_budget_bytes = 340 << 10;
  for (const Engine engine : {Engine::native, Engine::automatic}) {
    Runtime runtime(options);
    const Layer layer = forced_layer(c.mask, engine, runtime);
    for (const std::string& name : candidate_of(layer)) EXPECT_NE(name, "native");
    for (const KernelReport& report : layer.report()) {
      const CandidateReport& native = find(report, "native");
      EXPECT_NE(native.note.find("budget"), std::string::npos) << layer.explain();
      EXPECT_GT(native.predicted_seconds, 0);
      const CandidateReport& table = find(report, "native table");
      if (report.pass == Pass::forward) {
        EXPECT_GT(table.predicted_seconds, 1.25 * native.predicted_seconds);
      }
      EXPECT_TRUE(table.runs || table.measured_seconds > 0) << layer.explain();
    }
  }
}

TEST_F(Candidates, ExplainShowsTimesAndWhyTheWinnerWon) {
  Runtime runtime(with_threads(1));
  const LayerCase c = {.mask = Mask::random({64, 64}, 0.9, 1), .batch = 40};
  const Layer layer = forced_layer(c.mask, Engine::automatic, runtime);
  run_layer(layer, c);
  EXPECT_NE(layer.explain().find("(still measuring)"), std::string::npos) << layer.explain();
  for (const KernelReport& report : layer.report()) EXPECT_TRUE(report.measuring);
  for (int call = 0; call < kCallsToPick; ++call) run_layer(layer, c);
  const std::string text = layer.explain();
  for (const char* words :
       {"candidate", "predicted us", "measured us", "  native ", "  interpreted ", "runs\n"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << " in:\n" << text;
  }
  for (const KernelReport& report : layer.report()) {
    EXPECT_FALSE(report.measuring);
    EXPECT_EQ(report.reason.find("measured "), 0U) << report.reason;
    const CandidateReport& winner = find(report, report.candidate);
    EXPECT_TRUE(winner.runs);
    EXPECT_GT(winner.measured_seconds, 0);
    for (const CandidateReport& any : report.candidates) EXPECT_GT(any.predicted_seconds, 0);
    EXPECT_NE(text.find(report.reason + ")"), std::string::npos) << text;
  }
}

TEST_F(Candidates, ThoseThatLostLetGoOfTheirCode) {
  Runtime runtime(with_threads(1));
  const LayerCase c = {.mask = Mask::random({64, 64}, 0.9, 1), .batch = 40};
  const Layer layer = forced_layer(c.mask, Engine::automatic, runtime);
  run_layer(layer, c);
  for (const KernelReport& report : layer.report()) EXPECT_GT(report.code_bytes, 0);
  for (int call = 0; call < kCallsToPick; ++call) run_layer(layer, c);
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.code_bytes > 0, report.engine == Engine::native) << layer.explain();
  }
}

}  // namespace
}  // namespace sparsejit::test
