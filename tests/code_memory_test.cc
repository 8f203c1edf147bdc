// Executable memory: never writable and executable at once, refused in two ways, and used on both
// sides of a fork. Each case runs in a child process.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "support/child.h"
#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class CodeMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  }
};

void expect_right(const Layer& layer) {
  for (const int64_t batch : {5, 16, 100}) {
    LayerCase layer_case = {.mask = layer.mask(), .batch = batch};
    layer_case.arrange(Arrangement::feature_major);
    expect_matches_reference(layer_case, run_layer(layer, layer_case));
  }
}

TEST_F(CodeMemory, IsNeverWritableAndExecutable) {
  Runtime runtime(with_threads(2));
  const Layer layer = forced_layer(Mask::random({200, 200}, 0.5, 1), Engine::native, runtime);
  expect_right(layer);
  expect_ran_on(layer, Engine::native);
  EXPECT_EQ(runtime.executable_memory_problem(), "");
  EXPECT_FALSE(any_writable_executable_mapping());
}

TEST_F(CodeMemory, DetectorOfWritableExecutableMappingsWorks) {
  void* memory =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "this system refuses such mappings";
  EXPECT_TRUE(any_writable_executable_mapping());
  munmap(memory, 4096);
}

TEST_F(CodeMemory, WorksWhereWritableMemoryMayNotBecomeExecutable) {
  expect_in_child([] {
    if (!deny_execute_gain()) return true;  // an older kernel: nothing to test
    Runtime runtime(with_threads(2));
    EXPECT_EQ(runtime.executable_memory_problem(), "");
    const Layer layer = forced_layer(Mask::random({50, 60}, 0.8, 1), Engine::native, runtime);
    expect_right(layer);
    expect_ran_on(layer, Engine::native);
    EXPECT_FALSE(any_writable_executable_mapping());
    return true;
  });
}

TEST_F(CodeMemory, RunsInterpretedWhereExecutableMemoryIsRefused) {
  expect_in_child([] {
    std::vector<std::string> warnings;
    RuntimeOptions options = with_threads(1);
    options.log = [&](const std::string& line) { warnings.push_back(line); };
    if (!deny_executable_memory()) return true;
    Runtime runtime(options);
    EXPECT_NE(runtime.executable_memory_problem(), "");
    const Layer layer = forced_layer(Mask::random({50, 60}, 0.8, 1), Engine::native, runtime);
    expect_right(layer);
    expect_ran_on(layer, Engine::interpreted);
    EXPECT_NE(layer.explain().find("executable memory"), std::string::npos) << layer.explain();
    EXPECT_EQ(warnings.size(), 1U);
    EXPECT_EQ(runtime.stats().kernels, 0);
    EXPECT_EQ(runtime.stats().code_bytes, 0);
    return true;
  });
}

TEST_F(CodeMemory, RefusalIsRememberedAndNotRetried) {
  expect_in_child([] {
    if (!deny_executable_memory()) return true;
    Runtime runtime(with_threads(1));
    const Layer layer = forced_layer(Mask::random({50, 60}, 0.8, 1), Engine::native, runtime);
    expect_right(layer);
    const int64_t failures = runtime.stats().compile_failures;
    EXPECT_GT(failures, 0);
    for (int i = 0; i < 5; ++i) expect_right(layer);
    const Layer again = forced_layer(layer.mask(), Engine::native, runtime);
    expect_right(again);
    EXPECT_EQ(runtime.stats().compile_failures, failures);
    return true;
  });
}

// The layer is large enough for threads to share it: the child has none of the parent's workers.
TEST_F(CodeMemory, ForkedChildRunsOldKernelsAndCompilesNewOnes) {
  const Mask mask = Mask::random({200, 300}, 0.5, 1);
  Runtime runtime(with_threads(2));
  Layer layer = forced_layer(mask, Engine::native, runtime);
  expect_right(layer);
  expect_in_child([&] {
    expect_right(layer);
    layer.set_mask(Mask::random({200, 300}, 0.5, 2));
    expect_right(layer);
    Runtime own(with_threads(2));
    expect_right(forced_layer(Mask::random({200, 300}, 0.5, 3), Engine::native, own));
    return true;
  });
  EXPECT_EQ(layer.mask(), mask);
  expect_right(layer);
  expect_ran_on(layer, Engine::native);
}

// A child that fails its expectations must not go unnoticed.
TEST_F(CodeMemory, FailureInAChildIsSeen) {
  const auto failing = [] { return false; };
  ::testing::TestPartResultArray failures;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
    expect_in_child(failing);
  }
  EXPECT_EQ(failures.size(), 1);
}

}  // namespace
}  // namespace sparsejit::test
