// The kernel cache: one compile per content however many threads ask, equality decides and not the
// hash, a bounded number of bytes, and what happens when code does not fit.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kernel_cache.h"
#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }
};

// Both passes compiled at once.
Layer compiled_layer(const Mask& mask, Runtime& runtime, int64_t batch = 16) {
  LayerOptions options;
  options.engine = Engine::native;
  options.batch = batch;
  options.runtime = &runtime;
  return compile_layer(mask, options);
}

void expect_right(const Layer& layer, int64_t batch = 16) {
  LayerCase layer_case = {.mask = layer.mask(), .batch = batch};
  layer_case.arrange(Arrangement::feature_major_padded);
  expect_matches_reference(layer_case, run_layer(layer, layer_case));
}

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Kernels that one layer needs for one batch size, for both passes.
int64_t kernels_of_a_layer(const Mask& mask = Mask::random({64, 64}, 0.9, 1)) {
  Runtime runtime(with_threads(1));
  const Layer layer = compiled_layer(mask, runtime);
  EXPECT_GE(runtime.stats().cache_misses, 2) << "one for each pass at least";
  return runtime.stats().cache_misses;
}

TEST_F(Cache, EightThreadsOneMaskIsOneCompile) {
  Runtime runtime(with_threads(1));
  run_threads(8, [&](int) {
    const Layer layer = compiled_layer(Mask::random({64, 64}, 0.9, 1), runtime);
    expect_right(layer);
    expect_ran_on(layer, Engine::native);
  });
  EXPECT_EQ(runtime.stats().cache_misses, kernels_of_a_layer());
  EXPECT_EQ(runtime.stats().kernels, kernels_of_a_layer());
}

TEST_F(Cache, EightThreadsEightMasksAreEightCompiles) {
  Runtime runtime(with_threads(1));
  run_threads(8, [&](int i) {
    expect_right(compiled_layer(Mask::random({64, 64}, 0.9, static_cast<uint64_t>(i)), runtime));
  });
  EXPECT_EQ(runtime.stats().cache_misses, 8 * kernels_of_a_layer());
  EXPECT_EQ(runtime.stats().kernels, 8 * kernels_of_a_layer());
}

TEST_F(Cache, OneLayerMayRunFromSeveralThreadsAtOnce) {
  Runtime runtime(with_threads(2));
  const Layer layer = forced_layer(Mask::random({300, 200}, 0.5, 1), Engine::automatic, runtime);
  run_threads(4, [&](int i) {
    for (int run = 0; run < 5; ++run) expect_right(layer, int64_t{16} * (i + 1));
  });
}

TEST_F(Cache, SecondLayerOfTheSameMaskCompilesNothing) {
  Runtime runtime(with_threads(1));
  const Layer first = compiled_layer(Mask::random({20, 30}, 0.8, 1), runtime);
  const int64_t kernels = kernels_of_a_layer(Mask::random({20, 30}, 0.8, 1));
  const Layer second = compiled_layer(Mask::random({20, 30}, 0.8, 1), runtime);
  EXPECT_EQ(runtime.stats().cache_misses, kernels);
  EXPECT_EQ(runtime.stats().cache_hits, kernels);
  expect_right(second);
}

TEST_F(Cache, SameBitsInAnotherShapeAreTwoKernels) {
  const std::vector<uint8_t> bits = {1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1,
                                     0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1};
  Runtime runtime(with_threads(1));
  int64_t kernels = 0;
  for (const MaskShape shape : {MaskShape{4, 8}, {8, 4}}) {
    expect_right(compiled_layer(Mask::from_dense(bits, shape), runtime));
    kernels += kernels_of_a_layer(Mask::from_dense(bits, shape));
  }
  EXPECT_EQ(runtime.stats().kernels, kernels);
}

CacheOptions cache_options() {
  CacheOptions options;
  options.machine = detect_machine();
  options.budget_bytes = 1 << 20;
  return options;
}

CacheOptions with_constant_hash() {
  CacheOptions options = cache_options();
  options.hasher = [](const Mask&) { return 42; };
  return options;
}

KernelRequest forward_request() {
  KernelRequest request;
  request.length = 16;
  return request;
}

TEST_F(Cache, MasksWithTheSameHashStayTwoKernels) {
  KernelCache cache(with_constant_hash());
  const auto a =
      std::make_shared<LoweredLayer>(LayerSpec{Mask::from_smtx("1, 4, 2\n0 2\n0 1\n"), {}, {}});
  const auto b =
      std::make_shared<LoweredLayer>(LayerSpec{Mask::from_smtx("1, 4, 2\n0 2\n0 2\n"), {}, {}});
  const KernelLookup first = cache.get(a, Pass::forward, forward_request());
  const KernelLookup second = cache.get(b, Pass::forward, forward_request());
  ASSERT_NE(first.kernel, nullptr);
  ASSERT_NE(second.kernel, nullptr);
  EXPECT_NE(first.kernel, second.kernel);
  EXPECT_TRUE(second.generated);
  EXPECT_EQ(cache.get(a, Pass::forward, forward_request()).kernel, first.kernel);
  EXPECT_EQ(cache.get(b, Pass::forward, forward_request()).kernel, second.kernel);
  EXPECT_EQ(cache.stats().kernels, 2);
}

TEST_F(Cache, EveryFieldOfARequestMakesAnotherKernel) {
  KernelCache cache(with_constant_hash());
  const auto mask = std::make_shared<LoweredLayer>(LayerSpec{Mask::random({8, 8}, 0.5, 1), {}, {}});
  std::vector<KernelRequest> requests(6, forward_request());
  requests[1].length = 24;
  requests[2].length = 17;
  requests[3].pitches.gathered = 160;
  requests[4].pitches.own = 160;
  requests[5].kind = KernelKind::products;
  for (const bool generated : {true, false}) {
    for (const Pass side : {Pass::forward, Pass::backward}) {
      for (const KernelRequest& request : requests) {
        EXPECT_EQ(cache.get(mask, side, request).generated, generated);
      }
    }
  }
}

TEST_F(Cache, NoBudgetRunsInterpretedAndSaysWhy) {
  std::vector<std::string> warnings;
  RuntimeOptions options = with_code_budget(0);
  options.log = [&](const std::string& line) { warnings.push_back(line); };
  Runtime runtime(options);
  const Layer layer = forced_layer(Mask::random({30, 30}, 0.5, 1), Engine::native, runtime);
  for (const int64_t batch : {4, 16, 100}) expect_right(layer, batch);
  expect_ran_on(layer, Engine::interpreted);
  EXPECT_NE(layer.explain().find("code budget"), std::string::npos) << layer.explain();
  EXPECT_EQ(runtime.stats().kernels, 0);
  EXPECT_EQ(runtime.stats().code_bytes, 0);
  ASSERT_EQ(warnings.size(), 1U) << "one warning for the layer, not one a call";
  EXPECT_NE(warnings[0].find("code budget"), std::string::npos) << warnings[0];
  EXPECT_EQ(warnings[0].find('\n'), std::string::npos);
}

TEST_F(Cache, SmallBudgetEvictsTheLeastRecentlyUsedAndStaysRight) {
  constexpr int64_t kBudget = 64 << 10;
  Runtime runtime(with_code_budget(kBudget));
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Layer layer = compiled_layer(Mask::random({40, 40}, 0.8, seed % 20), runtime);
    expect_right(layer);
    expect_ran_on(layer, Engine::native);
    ASSERT_LE(runtime.stats().code_bytes, kBudget);
  }
  EXPECT_GT(runtime.stats().evictions, 0);
}

TEST_F(Cache, KernelsInUseAreNotEvicted) {
  constexpr int64_t kBudget = 64 << 10;
  Runtime runtime(with_code_budget(kBudget));
  std::vector<Layer> layers;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    layers.push_back(compiled_layer(Mask::random({40, 40}, 0.8, seed), runtime));
    ASSERT_LE(runtime.stats().code_bytes, kBudget);
  }
  for (const Layer& layer : layers) expect_right(layer);
  expect_ran_on(layers.front(), Engine::native);
  expect_ran_on(layers.back(), Engine::interpreted);
}

// Room that other layers gave up can be used by a layer that found none before.
TEST_F(Cache, RoomIsReusedWhenLayersGo) {
  Runtime runtime(with_code_budget(48 << 10));
  {
    std::vector<Layer> layers;
    for (uint64_t seed = 0; seed < 30; ++seed) {
      layers.push_back(compiled_layer(Mask::random({40, 40}, 0.8, seed), runtime));
    }
  }
  const Layer layer = compiled_layer(Mask::random({40, 40}, 0.8, 99), runtime);
  expect_right(layer);
  expect_ran_on(layer, Engine::native);
}

TEST_F(Cache, StatsCountWhatHappened) {
  Runtime runtime(with_threads(1));
  EXPECT_EQ(runtime.stats().kernels, 0);
  const Mask mask = Mask::random({64, 64}, 0.5, 1);
  const Layer layer = compiled_layer(mask, runtime);
  const RuntimeStats stats = runtime.stats();
  int64_t reported_bytes = 0;
  for (const KernelReport& report : layer.report()) reported_bytes += report.code_bytes;
  EXPECT_EQ(stats.kernels, kernels_of_a_layer(mask));
  EXPECT_EQ(stats.cache_misses, stats.kernels);
  EXPECT_EQ(stats.cache_hits, 0);
  EXPECT_EQ(stats.compile_failures, 0);
  EXPECT_GT(stats.compile_seconds, 0);
  EXPECT_GT(reported_bytes, 0);
  EXPECT_GE(stats.code_bytes, reported_bytes) << "whole pages";
}

TEST_F(Cache, ChecksHitsByEmittingThemAgain) {
  RuntimeOptions options = with_threads(2);
  options.check_cache = true;
  Runtime runtime(options);
  Layer layer = compiled_layer(Mask::random({300, 200}, 0.5, 1), runtime);
  layer.set_mask(Mask::random({300, 200}, 0.5, 2));
  layer.set_mask(Mask::random({300, 200}, 0.5, 1));
  expect_right(layer);
  expect_ran_on(layer, Engine::native);
  EXPECT_GE(runtime.stats().checks, 2);
  EXPECT_EQ(runtime.stats().check_failures, 0);
}

// Overwrites a byte of code, as a stray write of somebody with the right to would.
bool damage(std::span<const uint8_t> code) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t address = reinterpret_cast<uintptr_t>(code.data());
  auto* const begin = reinterpret_cast<uint8_t*>(address / page * page);
  const size_t length = address % page + 1;
  if (mprotect(begin, length, PROT_READ | PROT_WRITE) != 0) return false;
  begin[address % page] ^= 1;
  return mprotect(begin, length, PROT_READ | PROT_EXEC) == 0;
}

TEST_F(Cache, AKernelThatIsNotWhatItShouldBeIsNotHandedOut) {
  CacheOptions options = cache_options();
  options.budget_bytes = 64 << 20;
  options.check_hits = true;
  KernelCache cache(options);
  // Large enough for a mapping of its own: in an arena no page can be made writable.
  const auto layer =
      std::make_shared<LoweredLayer>(LayerSpec{Mask::random({600, 600}, 0.5, 1), {}, {}});
  ASSERT_NE(cache.get(layer, Pass::forward, forward_request()).kernel, nullptr);
  const KernelLookup intact = cache.get(layer, Pass::forward, forward_request());
  ASSERT_NE(intact.kernel, nullptr) << intact.reason;
  if (!damage(intact.kernel->chunks().at(3).code)) {
    GTEST_SKIP() << "memory that was executable cannot be written here";
  }
  const KernelLookup damaged = cache.get(layer, Pass::forward, forward_request());
  EXPECT_EQ(damaged.kernel, nullptr);
  EXPECT_NE(damaged.reason.find("chunk 3"), std::string::npos) << damaged.reason;
  EXPECT_EQ(cache.stats().checks, 2);
  EXPECT_EQ(cache.stats().check_failures, 1);
}

TEST_F(Cache, LayersOutliveTheRuntimeObject) {
  auto runtime = std::make_unique<Runtime>(with_threads(2));
  const Layer layer = compiled_layer(Mask::random({20, 20}, 0.5, 1), *runtime);
  runtime.reset();
  expect_right(layer);
}

}  // namespace
}  // namespace sparsejit::test
