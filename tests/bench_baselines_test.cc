// Baselines of linear layers that are libraries: verified like any contender, or absent with a
// reason. Convolutions are in conv_baselines_test.cc.
#include <gtest/gtest.h>

#include "bench/contender.h"
#include "bench/memory_peaks.h"
#include "mkl_sparse.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

using namespace frontend;
using Maker = ContenderResult (*)(Problem&, const Runtime&);

Workload layer_with_bias(int64_t batch) {
  Workload workload = linear_layer(37, 24);
  workload.batch = batch;
  workload.sparsity = 0.8;
  workload.bias = true;
  return workload;
}

// Tight and padded streams, with and without dx; throws when a result is wrong.
void expect_verified(Maker make) {
  Runtime runtime({.threads = 1});
  for (const bool want_dx : {true, false}) {
    for (const int64_t batch : {1, 8, 21}) {
      Workload workload = layer_with_bias(batch);
      workload.want_dx = want_dx;
      Problem problem = make_problem(workload);
      ContenderResult made = make(problem, runtime);
      ASSERT_TRUE(made.contender) << made.reason;
      verify_contender(problem, compute_reference(problem), *made.contender);
      EXPECT_LT(made.contender->max_rel_error[1], kMaxRelError);
    }
  }
}

TEST(BenchBaselines, OneDnnComputesLinearLayers) { expect_verified(make_onednn_contender); }

TEST(BenchBaselines, MklComputesLinearLayersWhereItIsInstalled) {
  if (!mkl_problem().empty()) GTEST_SKIP() << mkl_problem();
  expect_verified(make_mkl_contender);
}

TEST(BenchBaselines, MklWithoutAnInstallationIsAReasonAndNoVersion) {
  if (mkl_problem().empty()) GTEST_SKIP() << mkl_version();
  Runtime runtime({.threads = 1});
  Problem problem = make_problem(layer_with_bias(8));
  const ContenderResult made = make_mkl_contender(problem, runtime);
  EXPECT_FALSE(made.contender);
  EXPECT_NE(made.reason.find("not installed"), std::string::npos) << made.reason;
  EXPECT_EQ(mkl_version(), "");
}

TEST(BenchBaselines, LibrariesForLinearLayersLeaveOutConvolutions) {
  Workload workload = layer_with_bias(2);
  workload.conv = ConvGeometry{.kernel = 1, .conv = {}, .image = {4, 4}};
  Problem problem = make_problem(workload);
  Runtime runtime({.threads = 1});
  for (const Maker make : {make_onednn_contender, make_mkl_contender}) {
    const ContenderResult made = make(problem, runtime);
    EXPECT_FALSE(made.contender);
    EXPECT_NE(made.reason.find("convolution"), std::string::npos) << made.reason;
  }
}

// No machine reads its second-level cache slower than its memory, or either slower than this.
TEST(MemoryPeaks, AreOrdered) {
  const MachineModel machine = detect_machine();
  if (!machine.avx2_fma) GTEST_SKIP() << "AVX2 is needed";
  if (kSanitized) GTEST_SKIP() << "checks of every load take longer than the loads";
  const double memory = measure_memory_gbytes(machine.l3_bytes, 1);
  EXPECT_GT(memory, 0.1);
  EXPECT_GT(measure_l2_gbytes(machine.l2_bytes), memory);
}

}  // namespace
}  // namespace sparsejit::test
