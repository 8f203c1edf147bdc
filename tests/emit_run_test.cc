// Emitted code of all kinds and shapes runs and matches the naive reference (support/kernel_run.h).
// Tiled kernels: tiled_run_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/kernel_run.h"

namespace sparsejit::test {
namespace {

class EmitRun : public ::testing::TestWithParam<Edge> {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }
};

TEST_P(EmitRun, MatchesTheReference) {
  for (const Mask& mask : assorted_masks()) {
    for (const KernelCase& kernel : assorted_cases()) {
      if (kernel.request.tiled) continue;
      for (const MachineModel& machine : made_up_machines()) {
        if (!can_run_code_for(machine)) continue;
        SCOPED_TRACE(fmt::format("{}, {}x{} mask, {}", to_text(kernel), mask.rows(), mask.cols(),
                                 to_text(machine)));
        expect_matches_reference({mask, kernel, GetParam(), machine});
      }
    }
  }
}

TEST_P(EmitRun, MatchesTheReferenceForEveryGroupSize) {
  for (int64_t taps = 0; taps <= 30; ++taps) {
    const Mask wide = Mask::random({1, 30}, 1.0 - static_cast<double>(taps) / 30, 1);
    const Mask tall = Mask::random({30, 1}, 1.0 - static_cast<double>(taps) / 30, 1);
    for (const KernelCase& kernel : assorted_cases()) {
      if (kernel.request.tiled) continue;
      SCOPED_TRACE(fmt::format("{}, {} taps in the row", to_text(kernel), taps));
      const Mask& mask = kernel.side == Pass::forward ? wide : tall;
      for (const MachineModel& machine : made_up_machines()) {
        if (!can_run_code_for(machine)) continue;
        expect_matches_reference({mask, kernel, GetParam(), machine});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, EmitRun, ::testing::Values(Edge::end, Edge::start),
                         [](const auto& edge) {
                           return edge.param == Edge::end ? "FlushToTheEnd" : "FlushToTheStart";
                         });

}  // namespace
}  // namespace sparsejit::test
