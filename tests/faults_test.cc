// Injected faults: whatever the system refuses, and whatever goes wrong while a kernel is made, the
// layer gives right results and the cache stays in order. Limits of a process are set in children.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_cache.h"
#include "support/child.h"
#include "support/layer_case.h"
#include "support/runtimes.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }
};

KernelRequest forward_request() {
  KernelRequest request;
  request.length = 16;
  return request;
}

CacheOptions failing_options(std::function<void(const Plan&)> fail) {
  CacheOptions options;
  options.machine = detect_machine();
  options.budget_bytes = 1 << 20;
  options.before_emit = std::move(fail);
  return options;
}

LoweredLayerPtr lowered(const Mask& mask) {
  return std::make_shared<LoweredLayer>(LayerSpec{mask, {}, {}});
}

TEST_F(Faults, AnErrorInTheMiddleOfACompileIsRememberedWithItsReason) {
  KernelCache cache(failing_options([](const Plan&) { throw std::runtime_error("out of ink"); }));
  const LoweredLayerPtr layer = lowered(Mask::random({8, 8}, 0.5, 1));
  for (int attempt = 0; attempt < 3; ++attempt) {
    const KernelLookup lookup = cache.get(layer, Pass::forward, forward_request());
    EXPECT_EQ(lookup.kernel, nullptr);
    EXPECT_NE(lookup.reason.find("out of ink"), std::string::npos) << lookup.reason;
  }
  EXPECT_EQ(cache.stats().cache_misses, 1);
  EXPECT_EQ(cache.stats().compile_failures, 1);
  EXPECT_EQ(cache.stats().kernels, 0);
  EXPECT_EQ(cache.stats().code_bytes, 0);
}

TEST_F(Faults, WhatIsThrownNeedNotBeAnException) {
  KernelCache cache(failing_options([](const Plan&) { throw 42; }));
  const KernelLookup lookup =
      cache.get(lowered(Mask::random({8, 8}, 0.5, 1)), Pass::forward, forward_request());
  EXPECT_EQ(lookup.kernel, nullptr);
  EXPECT_EQ(lookup.reason, "compiling failed");
}

TEST_F(Faults, OneFailedCompileHarmsNoOther) {
  int compiles = 0;
  KernelCache cache(failing_options([&](const Plan&) {
    if (++compiles % 2 == 1) throw std::bad_alloc();
  }));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const KernelLookup lookup =
        cache.get(lowered(Mask::random({8, 8}, 0.5, seed)), Pass::forward, forward_request());
    EXPECT_EQ(lookup.kernel != nullptr, seed % 2 == 1) << lookup.reason;
  }
  EXPECT_EQ(cache.stats().kernels, 10);
}

// Each remembered failure keeps a mask in memory.
TEST_F(Faults, OnlyTheLatestFailuresAreRemembered) {
  KernelCache cache(failing_options([](const Plan&) { throw std::bad_alloc(); }));
  const auto get = [&](uint64_t seed) {
    cache.get(lowered(Mask::random({8, 8}, 0.5, seed)), Pass::forward, forward_request());
    return cache.stats().cache_misses;
  };
  for (uint64_t seed = 0; seed < 1000; ++seed) get(seed);
  EXPECT_EQ(get(999), 1000) << "the latest is remembered";
  EXPECT_EQ(get(0), 1001) << "the oldest is not";
}

void expect_right(const Layer& layer, int64_t batch = 40) {
  LayerCase layer_case = {.mask = layer.mask(), .batch = batch};
  layer_case.arrange(Arrangement::feature_major);
  expect_matches_reference(layer_case, run_layer(layer, layer_case));
}

// The kernels of one pass fit the budget, those of the other do not, and whoever is told throws:
// the change of the mask is done all the same, for all kernels.
TEST_F(Faults, ALogThatThrowsLeavesNoMaskHalfChanged) {
  RuntimeOptions options = with_code_budget(2560 << 10);
  options.log = [](const std::string& line) { throw std::runtime_error(line); };
  Runtime runtime(options);
  Layer layer = forced_layer(Mask::random({300, 200}, 0.95, 1), Engine::native, runtime);
  expect_right(layer);
  expect_ran_on(layer, Engine::native);
  const Mask dense = Mask::random({300, 200}, 0.5, 2);
  EXPECT_TRUE(layer.set_mask(dense).changed());
  EXPECT_EQ(layer.mask(), dense);
  expect_right(layer);
  const std::vector<KernelReport> reports = layer.report();
  EXPECT_TRUE(std::any_of(reports.begin(), reports.end(), [](const KernelReport& report) {
    return report.engine == Engine::native;
  })) << "no kernel fitted, nothing was tested";
}

int64_t address_space_in_use() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages;
  return pages * 4096;
}

// From now on this process gets about `bytes` more.
void limit_address_space(int64_t bytes) {
  const auto limit = static_cast<rlim_t>(address_space_in_use() + bytes);
  const rlimit limits{limit, limit};
  if (setrlimit(RLIMIT_AS, &limits) != 0) throw std::runtime_error("setrlimit");
}

class MemoryFaults : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    if (kSanitized) GTEST_SKIP() << "sanitizers need address space without limits";
  }
};

class ThreadFaults : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  }
};

TEST_F(MemoryFaults, NoMemoryForCodeMeansInterpreted) {
  expect_in_child([] {
    const Mask mask = Mask::random({1200, 1000}, 0.5, 1);  // tens of MiB of code
    std::vector<std::string> warnings;
    MachineModel machine = detect_machine();
    machine.unrolled_isa = machine.isa;  // no strips, whose code is small
    RuntimeOptions options = with_machine(machine, 1);
    options.log = [&](const std::string& line) { warnings.push_back(line); };
    Runtime runtime(options);
    LayerCase layer_case = {.mask = mask, .batch = 70};  // too long for tables
    layer_case.arrange(Arrangement::feature_major);
    const LayerRun expected =
        run_layer(forced_layer(mask, Engine::interpreted, runtime), layer_case);
    const Layer layer = forced_layer(mask, Engine::native, runtime);
    // Enough for the tables that the interpreted engine reads, 20 MiB, not for 17 MiB of code
    // twice. The forward pass may be native: tiled code is much smaller.
    limit_address_space(int64_t{32} << 20);
    expect_same_bits(run_layer(layer, layer_case).outputs, expected.outputs);
    EXPECT_EQ(layer.report().at(1).pass, Pass::backward);
    EXPECT_EQ(layer.report().at(1).engine, Engine::interpreted) << layer.explain();
    EXPECT_EQ(warnings.size(), 1U);
    return true;
  });
}

TEST_F(ThreadFaults, RefusedThreadsMeanThatFewerShareTheWork) {
  expect_in_child([] {
    Runtime runtime(with_threads(8));
    const Layer layer = forced_layer(Mask::random({300, 200}, 0.5, 1), Engine::native, runtime);
    if (!deny_threads()) return true;
    expect_right(layer);
    expect_ran_on(layer, Engine::native);
    return true;
  });
}

TEST_F(ThreadFaults, NoBackgroundThreadMeansCompilingAtOnce) {
  expect_in_child([] {
    Runtime runtime(with_threads(1));
    const Layer layer = compile_layer(
        Mask::random({30, 20}, 0.5, 1),
        {.engine = Engine::native, .compile = CompileMode::background, .runtime = &runtime});
    if (!deny_threads()) return true;
    expect_right(layer);
    expect_ran_on(layer, Engine::native);
    return true;
  });
}

}  // namespace
}  // namespace sparsejit::test
