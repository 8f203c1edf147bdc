// `bench --compare`: which lines count as slower, which cannot be compared, and how files that are
// no reports are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "bench/compare.h"
#include "support/expect_error.h"
#include "support/reports.h"

namespace sparsejit::test {
namespace {

using namespace frontend;
using Json = nlohmann::ordered_json;

constexpr double kThreshold = 0.1;

TEST(BenchCompare, FindsTheLinesBeyondTheThresholdTheWorstFirst) {
  const Json before =
      report_of({result_of("native", 0.9, 10), result_of("native", 0.95, 10),
                 result_of("interpreted", 0.9, 10), result_of("interpreted", 0.95, 10)});
  const Json after =
      report_of({result_of("native", 0.9, 12), result_of("native", 0.95, 20),
                 result_of("interpreted", 0.9, 10.5), result_of("interpreted", 0.95, 5)});
  const Comparison comparison = compare_reports(before, after, kThreshold);
  ASSERT_EQ(comparison.slower.size(), 2U);
  EXPECT_DOUBLE_EQ(comparison.slower[0].factor(), 2.0);
  EXPECT_DOUBLE_EQ(comparison.slower[1].factor(), 1.2);
  ASSERT_EQ(comparison.faster.size(), 1U);
  EXPECT_EQ(comparison.faster[0].after.engine, "interpreted");
  EXPECT_EQ(comparison.library.size(), 4U);
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("2.00x the time, 20 ms, was 10 ms: 64x32 batch 8, sparsity 0.95, 1 thread, "
                      "hot, native, total"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2 of 4 lines slower by more than 10%, 1 faster"), std::string::npos) << text;
}

TEST(BenchCompare, IgnoresMediansThatMovedInsideTheSpreadOfTheirSamples) {
  Json noisy = result_of("native", 0.9, 13);
  noisy["quartile1_ms"] = 9.0;
  const Json before = report_of({result_of("native", 0.9, 10)});
  EXPECT_TRUE(compare_reports(before, report_of({noisy}), kThreshold).slower.empty());
  noisy["quartile1_ms"] = 12.0;
  EXPECT_EQ(compare_reports(before, report_of({noisy}), kThreshold).slower.size(), 1U);
}

TEST(BenchCompare, BaselinesTellAboutTheMachineAndAreNeverSlower) {
  const Comparison comparison = compare_reports(
      report_of({result_of("dense", 0.9, 10), result_of("mkl_sparse", 0.9, 10)}),
      report_of({result_of("dense", 0.9, 40), result_of("mkl_sparse", 0.9, 10)}), kThreshold);
  EXPECT_TRUE(comparison.slower.empty());
  EXPECT_EQ(comparison.baselines.size(), 2U);
  EXPECT_NE(comparison_text(comparison).find("baselines: dense 4x, mkl_sparse 1x the time"),
            std::string::npos);
}

TEST(BenchCompare, LinesWithOtherParametersHaveNoPartner) {
  const Json result = result_of("native", 0.9, 10);
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, Json>>{{"batch", 9},
                                                 {"sparsity", 0.91},
                                                 {"threads", 2},
                                                 {"state", "cold"},
                                                 {"pass", "forward"},
                                                 {"layer", "64x33"},
                                                 {"layout", "row-major"},
                                                 {"pitch", "tight"},
                                                 {"bias", true},
                                                 {"dx", false},
                                                 {"seed", 2},
                                                 {"mask", "rn50"},
                                                 {"dense_algorithms", "direct"}}) {
    Json other = result;
    other[field] = value;
    const Comparison comparison =
        compare_reports(report_of({result}), report_of({other}), kThreshold);
    EXPECT_TRUE(comparison.library.empty()) << field;
    EXPECT_EQ(comparison.only_before.size(), 1U) << field;
    EXPECT_EQ(comparison.only_after.size(), 1U) << field;
  }
}

TEST(BenchCompare, GeometryOfConvolutionsIsAParameter) {
  Json conv = result_of("native", 0.9, 10);
  conv.update({{"kind", "conv2d"}, {"layer", "8x8x3x3"}, {"image", "7x7"}, {"stride", "1"}});
  for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{
           {"image", "8x8"}, {"stride", "2"}, {"padding", "1"}, {"dilation", "2"}, {"groups", 2}}) {
    Json other = conv;
    other[field] = value;
    EXPECT_TRUE(compare_reports(report_of({conv}), report_of({other}), kThreshold).library.empty())
        << field;
  }
  EXPECT_EQ(describe(report_lines(report_of({conv})).front()),
            "8x8x3x3 on 7x7, batch 8, sparsity 0.9, 1 thread, hot, native");
}

TEST(BenchCompare, PartnerlessLinesAreNamedOnceForEachWorkload) {
  Json forward = result_of("native", 0.9, 10);
  forward["pass"] = "forward";
  const std::string text = comparison_text(
      compare_reports(report_of({forward, result_of("native", 0.9, 10)}), report_of({}), 0.1));
  EXPECT_NE(text.find("only in the old report:\n    64x32 batch 8, sparsity 0.9, 1 thread: 2 lines "
                      "(hot; native; forward, total)\n"),
            std::string::npos)
      << text;
}

TEST(BenchCompare, NamesDifferencesOfTheMachineButNotNoiseOfItsPeaks) {
  const Json before = report_of({});
  Json after = before;
  after["machine"]["cpu"] = "Other CPU";
  after["machine"]["fma_peak_gflops"] = 104.0;
  EXPECT_EQ(compare_reports(before, after, kThreshold).machine,
            std::vector<std::string>{"cpu: \"Other CPU\", was \"Test CPU\""});
  after["machine"]["fma_peak_gflops"] = 60.0;
  EXPECT_EQ(compare_reports(before, after, kThreshold).machine.size(), 2U);
}

class ReportFile {
 public:
  explicit ReportFile(const std::string& text)
      : path_(::testing::TempDir() + std::to_string(getpid()) + ".json") {
    std::ofstream(path_) << text;
  }
  ~ReportFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void expect_no_report(const std::string& text, const std::string& fragment) {
  const ReportFile file(text);
  expect_error([&] { load_report(file.path(), "--compare"); },
               {"--compare", file.path(), fragment, "expected a file that --json wrote"});
}

TEST(BenchReportFile, IsReadBackAsItWasWritten) {
  const Json report = report_of({result_of("native", 0.9, 10)});
  const ReportFile file(report.dump());
  EXPECT_EQ(load_report(file.path(), "--compare"), report);
}

TEST(BenchReportFile, IsRefusedWithItsNameAndTheReason) {
  expect_error([] { load_report("none.json", "--results"); }, {"--results", "none.json"});
  expect_no_report("", "parse error");
  expect_no_report("{\"results\": 3}", "type");
  expect_no_report("[]", "at()");
  expect_no_report("{}", "results");
  Json result = result_of("native", 0.9, 10);
  result.erase("median_ms");
  expect_no_report(report_of({result}).dump(), "median_ms");
  result["median_ms"] = "fast";
  expect_no_report(report_of({result}).dump(), "type");
  result["median_ms"] = -1;
  expect_no_report(report_of({result}).dump(), "-1 ms");
}

}  // namespace
}  // namespace sparsejit::test
