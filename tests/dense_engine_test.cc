// The dense engine, as a candidate and asked for. That it is right in all layouts and shapes is
// tested where the other engines are: layer_layouts_test, layer_shapes_test, conv_layer_test
// (ReLU).
#include "dense_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "support/layer_case.h"
#include "support/plain_sgemm.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

class DenseEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "the portable engine would run";
  }

  // Counts the products; takes no time, so that it wins, or a long one.
  RuntimeOptions counting(double seconds_each = 0) {
    RuntimeOptions options = with_threads(1);
    options.sgemm = [this, seconds_each](const Sgemm& product) {
      ++products_;
      plain_sgemm(product);
      const auto end =
          std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_each);
      while (std::chrono::steady_clock::now() < end) {
      }
    };
    return options;
  }

  static const CandidateReport* find_dense(const KernelReport& report) {
    for (const CandidateReport& candidate : report.candidates) {
      if (candidate.engine == Engine::dense) return &candidate;
    }
    return nullptr;
  }

  int products_ = 0;
};

LayerCase half_dense() { return {.mask = Mask::random({48, 40}, 0.3, 1), .batch = 64}; }

TEST_F(DenseEngine, IsACandidateOfAutomaticLinearLayers) {
  Runtime runtime(counting());
  const Layer layer = forced_layer(half_dense().mask, Engine::automatic, runtime);
  for (int call = 0; call < kCallsToPick; ++call) {
    expect_matches_reference(half_dense(), run_layer(layer, half_dense()));
  }
  EXPECT_GT(products_, 0);
  for (const KernelReport& report : layer.report()) {
    const CandidateReport* dense = find_dense(report);
    ASSERT_NE(dense, nullptr);
    EXPECT_GT(dense->predicted_seconds, 0);
    EXPECT_GT(dense->measured_seconds, 0);
    EXPECT_NE(report.engine, Engine::automatic) << layer.explain();
  }
}

TEST_F(DenseEngine, RunsWhereItIsTheFastest) {
  if (kSanitized) GTEST_SKIP() << "what is fast with a sanitizer is not fast without";
  RuntimeOptions options = with_threads(1);
  options.sgemm = [](const Sgemm&) {};  // wrong, but fast
  Runtime runtime(options);
  const LayerCase c = {.mask = Mask::random({400, 400}, 0.0, 1), .batch = 800};
  const Layer layer = forced_layer(c.mask, Engine::automatic, runtime);
  for (int call = 0; call < kCallsToPick; ++call) run_layer(layer, c);
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.engine, Engine::dense) << layer.explain();
    EXPECT_EQ(report.reason.find("measured"), 0U) << report.reason;
    EXPECT_TRUE(report.plans.empty());
    EXPECT_EQ(report.code_bytes, 0) << "the code that lost is let go";
  }
  EXPECT_NE(layer.explain().find("engine dense"), std::string::npos);
}

TEST_F(DenseEngine, IsDroppedWhereItIsSlow) {
  if (kSanitized) GTEST_SKIP() << "what is fast with a sanitizer is not fast without";
  Runtime runtime(counting(5e-3));
  const Layer layer = forced_layer(half_dense().mask, Engine::automatic, runtime);
  for (int call = 0; call < kCallsToPick; ++call) run_layer(layer, half_dense());
  EXPECT_GE(products_, 5 * 3) << "five calls until the short ones have two samples, both passes";
  EXPECT_LT(products_, kCallsToPick) << "of three times as many";
  for (const KernelReport& report : layer.report()) EXPECT_NE(report.engine, Engine::dense);
}

TEST_F(DenseEngine, IsNotTriedOnVerySparseMasks) {
  Runtime runtime(counting());
  const LayerCase c = {.mask = Mask::random({256, 256}, 0.98, 1), .batch = 128};
  const Layer layer = forced_layer(c.mask, Engine::automatic, runtime);
  run_layer(layer, c);
  EXPECT_EQ(products_, 0);
  for (const KernelReport& report : layer.report()) {
    ASSERT_NE(find_dense(report), nullptr);
    EXPECT_NE(find_dense(report)->note.find("predicted"), std::string::npos);
    EXPECT_GT(find_dense(report)->predicted_seconds, 0);
  }
}

TEST_F(DenseEngine, IsNoCandidateOfDeterministicLayersConvolutionsAndPlainRuntimes) {
  Runtime runtime(counting());
  Runtime plain(with_threads(1));
  const Mask mask = half_dense().mask;
  const Layer deterministic = compile_layer(mask, {.deterministic = true, .runtime = &runtime});
  const Layer without = compile_layer(mask, {.runtime = &plain});
  const Layer conv = compile_layer(mask, Conv2d{}, {.runtime = &runtime});
  run_layer(deterministic, half_dense());
  run_layer(without, half_dense());
  const std::vector<float> x(size_t{40} * 16), values(mask.nnz());
  std::vector<float> y(size_t{48} * 16);
  conv.run_forward(nchw<const float>(x.data(), 1, 40, 4, 4), values, {},
                   nchw(y.data(), 1, 48, 4, 4));
  EXPECT_EQ(products_, 0);
  for (const Layer* layer : {&deterministic, &without, &conv}) {
    for (const KernelReport& report : layer->report()) EXPECT_EQ(find_dense(report), nullptr);
  }
}

TEST_F(DenseEngine, AskedForInVainFallsBackAndSaysWhy) {
  std::vector<std::string> log;
  RuntimeOptions options = with_threads(1);
  options.log = [&](const std::string& line) { log.push_back(line); };
  Runtime runtime(options);
  const Layer layer = forced_layer(half_dense().mask, Engine::dense, runtime);
  expect_matches_reference(half_dense(), run_layer(layer, half_dense()));
  expect_ran_on(layer, Engine::interpreted);
  EXPECT_NE(layer.explain().find("no sgemm"), std::string::npos) << layer.explain();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("interpreted instead of dense"), std::string::npos) << log[0];
}

TEST_F(DenseEngine, FollowsTheMask) {
  Runtime runtime(with_sgemm(2));
  Layer layer = forced_layer(half_dense().mask, Engine::dense, runtime);
  run_layer(layer, half_dense());
  LayerCase c = {.mask = Mask::random({48, 40}, 0.8, 2), .batch = 64};
  layer.set_mask(c.mask);
  expect_matches_reference(c, run_layer(layer, c));
  expect_ran_on(layer, Engine::dense);
}

// Layers large enough for threads to share the copies, the scatter and the gather.
TEST_F(DenseEngine, ThreadsShareTheWork) {
  Runtime runtime(with_sgemm(3));
  for (const Arrangement arrangement :
       {Arrangement::row_major, Arrangement::feature_major, Arrangement::strided}) {
    LayerCase c = {.mask = Mask::random({400, 350}, 0.7, 1), .batch = 300};
    c.arrange(arrangement);
    const Layer layer = forced_layer(c.mask, Engine::dense, runtime);
    SCOPED_TRACE(to_text(c));
    expect_matches_reference(c, run_layer(layer, c));
  }
}

// Documented in layer.h: other engines do not touch the input of a pruned weight.
TEST_F(DenseEngine, PrunedWeightsMultiplyTheirInput) {
  Runtime runtime(with_sgemm());
  const Layer layer = forced_layer(Mask::from_smtx("1, 2, 1\n0 1\n0\n"), Engine::dense, runtime);
  const std::vector<float> x = {1, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> values = {1};
  float y = 0;
  layer.run_forward(row_major<const float>(x.data(), 1, 2), values, {}, row_major(&y, 1, 1));
  EXPECT_TRUE(std::isnan(y));
}

TEST_F(DenseEngine, ErrorsOfTheProductReachTheCaller) {
  RuntimeOptions options = with_threads(1);
  options.sgemm = [](const Sgemm&) { throw std::runtime_error("no such product"); };
  Runtime runtime(options);
  const Layer layer = forced_layer(half_dense().mask, Engine::dense, runtime);
  EXPECT_THROW(run_layer(layer, half_dense()), std::runtime_error);
}

}  // namespace
}  // namespace sparsejit::test
