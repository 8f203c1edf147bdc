// The baselines of convolutions compute what the double-precision reference of `bench` says: they
// are written by others (oneDNN) or after others (the paper), so that the two check each other.
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/contender.h"
#include "dense_conv.h"
#include "support/expect_error.h"
#include "support/runtimes.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

// Sums here have at most some thousands of terms; a term too many or too few is 1e-4 of them.
constexpr double kRounding = 1e-5;

Workload conv_workload(int64_t in, int64_t out, PerAxis kernel, const Conv2d& conv, ImageSize image,
                       int64_t batch) {
  Workload workload = linear_layer(in, out);
  workload.conv = ConvGeometry{.kernel = kernel, .conv = {}, .image = image};
  workload.conv->conv.groups = conv.groups;
  workload.conv->conv = resolve_conv2d(weight_shape(workload), conv);
  workload.batch = batch;
  workload.sparsity = 0.7;
  workload.bias = true;
  return workload;
}

// verify_contender throws when a result is wrong; rounding is held to more than it asks for.
void expect_right(Problem& problem, const Reference& reference, ContenderResult made) {
  ASSERT_TRUE(made.contender) << made.reason;
  verify_contender(problem, reference, *made.contender);
  for (const double error : made.contender->max_rel_error) {
    EXPECT_LE(error, kRounding) << layer_text(problem.workload);
  }
}

Workload without_dx(Workload workload) {
  workload.want_dx = false;
  return workload;
}

std::vector<Workload> geometries() {
  const ImageSize odd{9, 13};
  return {
      conv_workload(16, 24, 3, {.padding = 1}, {7, 7}, 3),
      conv_workload(5, 7, 3, {.stride = 2, .padding = 1}, odd, 2),
      conv_workload(3, 16, 7, {.stride = 2, .padding = 3}, {20, 18}, 2),
      conv_workload(8, 8, 1, {.stride = PerAxis(2, 1)}, odd, 4),
      conv_workload(6, 9, {3, 1}, {.padding = Padding2d(2, 0)}, odd, 1),
      conv_workload(6, 9, {1, 5}, {.stride = PerAxis(1, 3), .padding = Padding2d(0, 4)}, odd, 2),
      conv_workload(4, 6, 3, {.padding = 2, .dilation = PerAxis(1, 2)}, odd, 2),
      conv_workload(12, 8, 3, {.padding = 1, .groups = 4}, odd, 2),
      conv_workload(8, 8, 3, {.padding = Padding2d::same(), .groups = 8}, {5, 5}, 3),
      conv_workload(4, 4, {2, 2}, {.padding = Padding2d::same()}, {6, 5}, 2),
      without_dx(conv_workload(3, 8, 3, {.padding = 1}, odd, 9)),
  };
}

TEST(DenseConv, MatchesTheReferenceOnAllGeometries) {
  Runtime runtime(with_threads(1));
  for (const Workload& workload : geometries()) {
    Problem problem = make_problem(workload);
    const Reference reference = compute_reference(problem);
    expect_right(problem, reference, make_dense_conv_contender(problem, runtime));
  }
}

int64_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(DenseConv, StartsAsManyThreadsAsAskedFor) {
  const Workload workload = conv_workload(64, 64, 3, {.padding = 1}, {28, 28}, 4);
  Problem problem = make_problem(workload);
  const auto threads_after = [&](int threads) {
    Runtime runtime(with_threads(1));
    DenseConv conv({workload.batch, weight_shape(workload), workload.conv->conv,
                    workload.conv->image, false, true},
                   threads);
    conv.run_forward();
    return threads_of_this_process();
  };
  const int64_t before = threads_of_this_process();
  EXPECT_EQ(threads_after(1), before);
  // The thread sanitizer does not know OpenMP's barriers.
  if (kSanitized) return;
  EXPECT_EQ(threads_after(2), before + 1);
}

class PaperKernels : public ::testing::TestWithParam<PaperKernel> {
 protected:
  void SetUp() override {
    if (!runtime_.machine().avx2_fma) GTEST_SKIP() << "needs AVX2 and FMA";
  }
  Runtime runtime_{with_threads(1)};
};

TEST_P(PaperKernels, MatchTheReferenceForEveryBatchAndWidth) {
  for (int64_t batch = 1; batch <= 9; ++batch) {
    for (int64_t width = 1; width <= 17; ++width) {
      Problem problem = make_problem(conv_workload(3, 4, 3, {.padding = 1}, {3, width}, batch));
      const Reference reference = compute_reference(problem);
      expect_right(problem, reference, make_paper_conv_contender(problem, runtime_, GetParam()));
    }
  }
}

TEST_P(PaperKernels, MatchTheReferenceOnAllGeometries) {
  for (const Workload& workload : geometries()) {
    Problem problem = make_problem(workload);
    const Reference reference = compute_reference(problem);
    ContenderResult made = make_paper_conv_contender(problem, runtime_, GetParam());
    if (GetParam() == PaperKernel::rows && workload.conv->conv.stride.w != 1) {
      EXPECT_FALSE(made.contender);
      EXPECT_NE(made.reason, "");
    } else {
      expect_right(problem, reference, std::move(made));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, PaperKernels,
                         ::testing::Values(PaperKernel::rows, PaperKernel::batch_innermost),
                         [](const auto& kernel) {
                           return kernel.param == PaperKernel::rows ? "Rows" : "BatchInnermost";
                         });

TEST(VerifyContender, RefusesOneWrongNumber) {
  Runtime runtime(with_threads(1));
  Problem problem = make_problem(conv_workload(8, 8, 3, {.padding = 1}, {6, 6}, 2));
  const Reference reference = compute_reference(problem);
  ContenderResult made = make_dense_conv_contender(problem, runtime);
  ASSERT_TRUE(made.contender) << made.reason;
  const auto collect = made.contender->collect_outputs;
  made.contender->collect_outputs = [&] {
    collect();
    problem.feature_major.dx.at(1, 3, 17) += 0.01F;
  };
  expect_error([&] { verify_contender(problem, reference, *made.contender); },
               {"backward", "dense", "not timed"});
}

}  // namespace
}  // namespace sparsejit::test
