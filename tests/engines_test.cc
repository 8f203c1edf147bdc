// Engines agree: native and interpreted bit for bit, portable within rounding, and results do not
// depend on the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "support/layer_case.h"
#include "support/plans.h"
#include "support/runtimes.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

int64_t threads_of_this_process() {
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

class Engines : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }

  LayerOutputs run_on(Engine engine, const LayerCase& layer_case, Runtime& runtime) {
    const Layer layer = forced_layer(layer_case.mask, engine, runtime);
    LayerOutputs outputs = run_layer(layer, layer_case).outputs;
    expect_ran_on(layer, engine);
    return outputs;
  }

  Runtime runtime_{with_threads(2)};
};

TEST_F(Engines, NativeEqualsInterpretedBitForBit) {
  uint64_t seed = 1;
  for (const Mask& mask : assorted_masks()) {
    for (const int64_t batch : {1, 3, 8, 13, 24, 40, 64, 70, 72, 129, 400, 1100}) {
      for (const Arrangement arrangement :
           {Arrangement::row_major, Arrangement::feature_major, Arrangement::strided}) {
        LayerCase layer_case = {.mask = mask, .batch = batch};
        layer_case.arrange(arrangement);
        layer_case.seed = ++seed;
        layer_case.with_dx = seed % 4 != 0;
        SCOPED_TRACE(to_text(layer_case));
        expect_same_bits(run_on(Engine::native, layer_case, runtime_),
                         run_on(Engine::interpreted, layer_case, runtime_));
      }
    }
  }
}

TEST_F(Engines, NativeEqualsInterpretedBitForBitOnRandomShapes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto pick = [&](uint64_t salt, int64_t limit) {
      return static_cast<int64_t>((seed * 2654435761U + salt * 40503U) >> 7) % limit + 1;
    };
    LayerCase layer_case = {.mask = Mask::random({pick(1, 70), pick(2, 70)},
                                                 static_cast<double>(pick(3, 99)) / 100, seed),
                            .batch = pick(4, 300)};
    layer_case.x = all_arrangements()[pick(5, 11) - 1];
    layer_case.dy = all_arrangements()[pick(6, 11) - 1];
    layer_case.y = writable_arrangements()[pick(7, 8) - 1];
    layer_case.dx = writable_arrangements()[pick(8, 8) - 1];
    layer_case.seed = seed;
    SCOPED_TRACE(to_text(layer_case));
    expect_same_bits(run_on(Engine::native, layer_case, runtime_),
                     run_on(Engine::interpreted, layer_case, runtime_));
  }
}

// Portable sums in another order and without fused multiply-add: both are within the bound that
// reference.h derives, so they are within twice that bound of each other.
TEST_F(Engines, PortableEqualsNativeWithinRounding) {
  LayerCase layer_case = {.mask = Mask::random({60, 50}, 0.8, 2), .batch = 300};
  const LayerRun native =
      run_layer(forced_layer(layer_case.mask, Engine::native, runtime_), layer_case);
  const LayerOutputs portable = run_on(Engine::portable, layer_case, runtime_);
  const LayerReference reference = reference_layer(layer_case.mask, 300, native.inputs);
  for (size_t i = 0; i < portable.y.size(); ++i) {
    EXPECT_NEAR(portable.y[i], native.outputs.y[i], 2 * reference.y[i].tolerance());
  }
  for (size_t i = 0; i < portable.d_values.size(); ++i) {
    EXPECT_NEAR(portable.d_values[i], native.outputs.d_values[i],
                2 * reference.d_values[i].tolerance());
  }
}

// While the picker still measures, calls alternate between engines; nobody may notice.
TEST_F(Engines, AutomaticGivesTheSameBitsOnEveryCall) {
  for (const int64_t batch : {16, 100}) {
    LayerCase layer_case = {.mask = Mask::random({64, 64}, 0.9, 3), .batch = batch};
    layer_case.arrange(Arrangement::feature_major_padded);
    const LayerOutputs expected = run_on(Engine::native, layer_case, runtime_);
    const Layer layer = forced_layer(layer_case.mask, Engine::automatic, runtime_);
    for (int call = 0; call < 300; ++call) {
      expect_same_bits(run_layer(layer, layer_case).outputs, expected);
    }
    for (const KernelReport& report : layer.report()) {
      EXPECT_NE(report.engine, Engine::automatic) << "undecided after 300 calls";
      EXPECT_GT(report.native_seconds, 0);
      EXPECT_GT(report.interpreted_seconds, 0);
      const bool native_faster = report.native_seconds <= report.interpreted_seconds;
      EXPECT_EQ(report.engine, native_faster ? Engine::native : Engine::interpreted);
    }
  }
}

// Small work stays on the caller's thread; this is enough for threads to share it, except the
// shortest batch.
const Mask& shared_mask() {
  static const Mask mask = Mask::random({256, 256}, 0.75, 4);
  return mask;
}

TEST_F(Engines, ResultsDoNotDependOnTheNumberOfThreads) {
  const int runs = kSanitized ? 3 : 20;
  for (const Engine engine : available_engines()) {
    for (const int64_t batch : {16, 40, 100, 600}) {
      LayerCase layer_case = {.mask = shared_mask(), .batch = batch};
      layer_case.y = Arrangement::feature_major;
      layer_case.inputs = random_inputs(layer_case.mask, batch, true, 4);
      SCOPED_TRACE(to_text(layer_case));
      Runtime one(with_threads(1));
      const LayerOutputs expected = run_on(engine, layer_case, one);
      for (const int threads : {1, 2, 3}) {
        Runtime runtime(with_threads(threads));
        EXPECT_EQ(runtime.threads(), threads);
        const Layer layer = forced_layer(layer_case.mask, engine, runtime);
        for (int run = 0; run < runs; ++run) {
          expect_same_bits(run_layer(layer, layer_case).outputs, expected);
        }
      }
    }
  }
}

TEST_F(Engines, OneThreadCreatesNoThread) {
  const LayerCase layer_case = {.mask = shared_mask(), .batch = 200};
  std::thread([] {}).join();  // the thread sanitizer starts one of its own with the first
  const int64_t before = threads_of_this_process();
  Runtime one(with_threads(1));
  for (const Engine engine : available_engines()) run_on(engine, layer_case, one);
  EXPECT_EQ(threads_of_this_process(), before);
  Runtime three(with_threads(3));
  run_on(Engine::native, layer_case, three);
  EXPECT_EQ(threads_of_this_process(), before + 2) << "the counter does not see threads";
}

}  // namespace
}  // namespace sparsejit::test
