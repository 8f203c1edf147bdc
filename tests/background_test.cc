// Compiling in the background: a layer runs at once, changes to generated code when that is ready,
// between two calls and with the same bits; and what decides that nothing is compiled at all.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime_impl.h"
#include "support/child.h"
#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class Background : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }
};

Layer make_layer(const Mask& mask, Runtime& runtime, LayerOptions options) {
  options.runtime = &runtime;
  return compile_layer(mask, options);
}

LayerCase case_of(const Mask& mask, int64_t batch = 40) {
  LayerCase layer_case = {.mask = mask, .batch = batch};
  layer_case.arrange(Arrangement::feature_major);
  return layer_case;
}

// Runs both passes until both are on generated code; returns what each run gave.
std::vector<LayerOutputs> run_until_native(const Layer& layer) {
  std::vector<LayerOutputs> outputs;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  while (std::chrono::steady_clock::now() < end) {
    outputs.push_back(run_layer(layer, case_of(layer.mask())).outputs);
    bool all_native = true;
    for (const KernelReport& report : layer.report()) {
      all_native &= report.engine == Engine::native;
    }
    if (all_native) return outputs;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ADD_FAILURE() << "still not on generated code:\n" << layer.explain();
  return outputs;
}

constexpr LayerOptions kInBackground{.engine = Engine::native, .compile = CompileMode::background};

// Holds the background thread until released.
class Blocker {
 public:
  explicit Blocker(BackgroundCompiler& compiler) { compiler.submit(wait_); }
  ~Blocker() { release(); }
  void release() {
    if (!std::exchange(released_, true)) wait_->latch.count_down();
  }

 private:
  struct Wait : BackgroundJob {
    void run() noexcept override { latch.wait(); }
    std::latch latch{1};
  };

  const std::shared_ptr<Wait> wait_ = std::make_shared<Wait>();
  bool released_ = false;
};

TEST_F(Background, RunsInterpretedThenNativeWithTheSameBits) {
  Runtime runtime(with_threads(1));
  const Layer layer = make_layer(Mask::random({300, 200}, 0.8, 1), runtime, kInBackground);
  const LayerRun first = run_layer(layer, case_of(layer.mask()));
  expect_matches_reference(case_of(layer.mask()), first);
  for (const LayerOutputs& outputs : run_until_native(layer)) {
    expect_same_bits(outputs, first.outputs);
  }
  expect_same_bits(run_layer(layer, case_of(layer.mask())).outputs, first.outputs);
}

TEST_F(Background, SaysThatItIsCompiling) {
  Runtime runtime(with_threads(1));
  Blocker blocker(runtime.impl()->compiler);
  const Layer layer = make_layer(Mask::random({30, 20}, 0.8, 1), runtime, kInBackground);
  run_layer(layer, case_of(layer.mask()));
  expect_ran_on(layer, Engine::interpreted);
  EXPECT_NE(layer.explain().find("background"), std::string::npos) << layer.explain();
  blocker.release();
  run_until_native(layer);
}

TEST_F(Background, WhatIsInTheCacheIsUsedAtOnce) {
  Runtime runtime(with_threads(1));
  const Mask mask = Mask::random({30, 20}, 0.8, 1);
  const Layer first = make_layer(mask, runtime, {.engine = Engine::native});
  run_layer(first, case_of(mask));
  Blocker blocker(runtime.impl()->compiler);
  const Layer second = make_layer(mask, runtime, kInBackground);
  run_layer(second, case_of(mask));
  expect_ran_on(second, Engine::native);
}

TEST_F(Background, MaskChangesWhileCompilingAreFollowed) {
  Runtime runtime(with_threads(1));
  Layer layer = make_layer(Mask::random({200, 100}, 0.8, 0), runtime, kInBackground);
  for (uint64_t seed = 1; seed < 30; ++seed) {
    run_layer(layer, case_of(layer.mask()));
    layer.set_mask(Mask::random({200, 100}, 0.8, seed));
    expect_matches_reference(case_of(layer.mask()), run_layer(layer, case_of(layer.mask())));
  }
  run_until_native(layer);
  expect_matches_reference(case_of(layer.mask()), run_layer(layer, case_of(layer.mask())));
}

TEST_F(Background, SetMaskDoesNotWaitForTheCompiler) {
  Runtime runtime(with_threads(1));
  Layer layer = make_layer(Mask::random({30, 20}, 0.8, 0), runtime, kInBackground);
  run_until_native(layer);
  Blocker blocker(runtime.impl()->compiler);
  const MaskChange change = layer.set_mask(Mask::random({30, 20}, 0.8, 1));
  EXPECT_EQ(change.kernels_generated, 0) << "made later";
  run_layer(layer, case_of(layer.mask()));
  expect_ran_on(layer, Engine::interpreted);
  blocker.release();
  run_until_native(layer);
}

TEST_F(Background, LayersAndRuntimesMayGoWhileCompiling) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Runtime runtime(with_threads(1));
    const Layer layer = make_layer(Mask::random({200, 100}, 0.8, seed), runtime, kInBackground);
    run_layer(layer, case_of(layer.mask()));
  }
}

// A thread that gets no processor must not pile up what nobody waits for.
TEST_F(Background, WhatNobodyWaitsForIsDropped) {
  Runtime runtime(with_threads(1));
  Blocker blocker(runtime.impl()->compiler);
  Layer layer = make_layer(Mask::random({30, 20}, 0.8, 0), runtime, kInBackground);
  for (uint64_t seed = 1; seed < 200; ++seed) {
    run_layer(layer, case_of(layer.mask()));
    layer.set_mask(Mask::random({30, 20}, 0.8, seed));
  }
  blocker.release();
  run_until_native(layer);
  EXPECT_LT(runtime.stats().cache_misses, 10) << "masks that were gone were compiled";
}

TEST_F(Background, SeveralThreadsMayRunTheLayerMeanwhile) {
  Runtime runtime(with_threads(2));
  const Layer layer = make_layer(Mask::random({300, 200}, 0.8, 1), runtime, kInBackground);
  const LayerOutputs expected = run_layer(layer, case_of(layer.mask())).outputs;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (const LayerOutputs& outputs : run_until_native(layer)) {
        expect_same_bits(outputs, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Background, ForkedChildrenFinishWhatWasQueued) {
  if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  Runtime runtime(with_threads(2));
  std::vector<Layer> layers;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    layers.push_back(make_layer(Mask::random({400, 300}, 0.7, seed), runtime, kInBackground));
    run_layer(layers.back(), case_of(layers.back().mask()));
  }
  const auto finish = [&] {
    for (const Layer& layer : layers) run_until_native(layer);
    return true;
  };
  expect_in_child(finish);
  finish();
}

TEST_F(Background, DeterministicLayersKeepTheirEngine) {
  Runtime runtime(with_threads(1));
  const Layer layer = make_layer(Mask::random({64, 64}, 0.8, 1), runtime,
                                 {.compile = CompileMode::background, .deterministic = true});
  run_layer(layer, case_of(layer.mask()));
  const std::vector<KernelReport> first = layer.report();
  for (int run = 0; run < 40; ++run) {
    run_layer(layer, case_of(layer.mask()));
    for (const KernelReport& report : layer.report()) {
      EXPECT_EQ(report.engine, first[static_cast<size_t>(report.pass)].engine);
      EXPECT_NE(report.engine, Engine::automatic);
      EXPECT_NE(report.reason.find("predicted"), std::string::npos) << report.reason;
      EXPECT_EQ(report.native_seconds, 0) << "clocks were read";
    }
  }
}

// Generated code of this one stays in every L2.
const Mask kSmall = Mask::random({64, 64}, 0.9, 1);

TEST_F(Background, FewExpectedCallsCompileNothingAndSayWhy) {
  Runtime runtime(with_threads(1));
  const Mask mask = kSmall;
  const Layer layer = make_layer(mask, runtime, {.expected_calls = 1});
  expect_matches_reference(case_of(mask, 200), run_layer(layer, case_of(mask, 200)));
  expect_ran_on(layer, Engine::interpreted);
  EXPECT_EQ(runtime.stats().cache_misses, 0);
  EXPECT_NE(layer.explain().find("expected calls: 1; compiling"), std::string::npos)
      << layer.explain();
}

TEST_F(Background, ManyExpectedCallsCompile) {
  Runtime runtime(with_threads(1));
  const Mask mask = kSmall;
  const Layer layer = make_layer(mask, runtime, {.expected_calls = 1'000'000});
  run_layer(layer, case_of(mask, 200));
  EXPECT_GT(runtime.stats().kernels, 0);
}

TEST_F(Background, FewExpectedCallsStillUseWhatIsInTheCache) {
  Runtime runtime(with_threads(1));
  const Mask mask = kSmall;
  const Layer first = make_layer(mask, runtime, {.engine = Engine::native});
  run_layer(first, case_of(mask, 200));
  const Layer second = make_layer(mask, runtime, {.expected_calls = 1});
  run_layer(second, case_of(mask, 200));
  for (const KernelReport& report : second.report()) EXPECT_EQ(report.engine, Engine::automatic);
}

}  // namespace
}  // namespace sparsejit::test
