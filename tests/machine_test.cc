// The machine model: read from the processor, capped by the environment, and what a layer does on
// a machine without AVX2 and FMA.
#include "sparsejit/machine.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cstdlib>

#include "support/layer_case.h"
#include "support/plans.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

TEST(Machine, SizesAreSensible) {
  const MachineModel machine = detect_machine();
  EXPECT_GE(machine.l1_bytes, 4 << 10);
  EXPECT_GE(machine.l2_bytes, machine.l1_bytes);
  EXPECT_GE(machine.cores, 1);
  EXPECT_EQ(machine.isa.lanes, 8);
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_EQ(detect_machine(), machine);
}

TEST(Machine, EnvironmentCapsTheInstructionSet) {
  setenv("SPARSEJIT_ISA", "avx2", 1);
  EXPECT_EQ(detect_machine().unrolled_isa, VectorIsa{});
  setenv("SPARSEJIT_ISA", "portable", 1);
  EXPECT_FALSE(detect_machine().avx2_fma);
  EXPECT_EQ(detect_machine().unrolled_isa, VectorIsa{});
  unsetenv("SPARSEJIT_ISA");
  EXPECT_EQ(detect_machine().avx2_fma,
            __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(detect_machine().unrolled_isa.lanes, __builtin_cpu_supports("avx512f") != 0 ? 16 : 8);
}

TEST(Machine, WithoutAvx2EveryEngineBecomesPortable) {
  MachineModel machine = made_up_machine();
  machine.avx2_fma = false;
  Runtime runtime(with_machine(machine, 2));
  for (const Engine engine :
       {Engine::automatic, Engine::native, Engine::interpreted, Engine::portable}) {
    for (const int64_t batch : {1, 16, 100}) {
      LayerCase layer_case = {.mask = Mask::random({30, 20}, 0.8, 1), .batch = batch};
      const Layer layer = forced_layer(layer_case.mask, engine, runtime);
      expect_matches_reference(layer_case, run_layer(layer, layer_case));
      expect_ran_on(layer, Engine::portable);
      EXPECT_EQ(runtime.stats().cache_misses, 0) << "nothing may be compiled";
      if (engine == Engine::portable) continue;
      EXPECT_NE(layer.explain().find("AVX2"), std::string::npos) << layer.explain();
    }
  }
}

TEST(Machine, WithoutAvx2MasksCanChangeToo) {
  MachineModel machine = made_up_machine();
  machine.avx2_fma = false;
  Runtime runtime(with_machine(machine));
  Layer layer = forced_layer(Mask::random({30, 20}, 0.8, 1), Engine::native, runtime);
  const MaskChange change = layer.set_mask(Mask::random({30, 20}, 0.5, 2));
  EXPECT_EQ(change.kernels_generated, 0);
  LayerCase layer_case = {.mask = layer.mask(), .batch = 9};
  expect_matches_reference(layer_case, run_layer(layer, layer_case));
}

// Flush-to-zero and rounding towards zero are the caller's; a call must leave them as they are.
TEST(Machine, ControlRegisterOfTheCallerIsUnchanged) {
  Runtime runtime(with_threads(1));
  for (const Engine engine : available_engines()) {
    for (const int64_t batch : {7, 16, 300}) {
      LayerCase layer_case = {.mask = Mask::random({30, 20}, 0.8, 1), .batch = batch};
      layer_case.arrange(Arrangement::feature_major);
      const Layer layer = forced_layer(layer_case.mask, engine, runtime);
      run_layer(layer, layer_case);
      const unsigned before = _mm_getcsr();
      constexpr unsigned kControlBits = 0xFFC0;
      _mm_setcsr(before ^ 0xE040);
      run_layer(layer, layer_case);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(after & kControlBits, (before ^ 0xE040) & kControlBits);
    }
  }
}

}  // namespace
}  // namespace sparsejit::test
