// What `bench` derives from measured times: rooflines, crossovers with dense, calls that pay for
// compiling, and the forms a report takes beside JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/bench_csv.h"
#include "bench/bench_json.h"
#include "bench/crossover.h"
#include "bench/roofline.h"
#include "support/reports.h"

namespace sparsejit::test {
namespace {

using namespace frontend;
using Json = nlohmann::ordered_json;

Workload small_layer() {
  Workload workload = linear_layer(10, 20);
  workload.batch = 100;
  workload.sparsity = 0.75;
  return workload;
}
constexpr int64_t kNnz = 50;

TEST(Roofline, CountsBytesOfLinearLayersAsDocumented) {
  const Work forward = count_work(small_layer(), kNnz, TimedPass::forward, 7);
  EXPECT_EQ(forward.flops, 2 * 50 * 100);
  EXPECT_EQ(forward.l2_bytes, 4 * (50 * 100 + 20 * 100));
  EXPECT_EQ(forward.memory_bytes, 4 * (10 * 100 + 2 * 20 * 100 + 50) + 7);

  const Work backward = count_work(small_layer(), kNnz, TimedPass::backward, 0);
  EXPECT_EQ(backward.flops, 4 * 50 * 100);
  EXPECT_EQ(backward.l2_bytes, 4 * (50 * 100 + 2 * 10 * 100));
  EXPECT_EQ(backward.memory_bytes, 4 * (3 * 10 * 100 + 20 * 100 + 3 * 50));

  const Work total = count_work(small_layer(), kNnz, TimedPass::total, 7);
  EXPECT_EQ(total.flops, forward.flops + backward.flops);
  EXPECT_EQ(total.l2_bytes, forward.l2_bytes + backward.l2_bytes);
  EXPECT_EQ(total.memory_bytes, forward.memory_bytes + backward.memory_bytes);
}

TEST(Roofline, BackwardWithoutDxMovesLess) {
  Workload workload = small_layer();
  workload.want_dx = false;
  const Work work = count_work(workload, kNnz, TimedPass::backward, 0);
  EXPECT_EQ(work.flops, 2 * 50 * 100);
  EXPECT_EQ(work.l2_bytes, 4 * (50 * 100 + 10 * 100));
  EXPECT_EQ(work.memory_bytes, 4 * (10 * 100 + 20 * 100 + 3 * 50));
}

TEST(Roofline, StreamsOfConvolutionsAreThePixelsOfAllImages) {
  Workload workload = linear_layer(4, 8);
  workload.batch = 3;
  workload.conv = ConvGeometry{.kernel = 3, .conv = {.stride = 2, .padding = 1}, .image = {8, 6}};
  const Work work = count_work(workload, 10, TimedPass::forward, 0);
  EXPECT_EQ(work.l2_bytes, 4 * (10 * 3 * 12 + 8 * 3 * 12));
  EXPECT_EQ(work.memory_bytes, 4 * (4 * 3 * 48 + 2 * 8 * 3 * 12 + 10));
}

WorkloadResults one_result(BenchEngine engine, double median_ms, int64_t code_bytes) {
  WorkloadResults group;
  group.workload = small_layer();
  group.nnz = kNnz;
  BenchResult result;
  result.engine = engine;
  result.median_ms = median_ms;
  result.code_bytes = code_bytes;
  group.results = {result};
  return group;
}

BenchMachine machine_with_peaks() {
  BenchMachine machine;
  machine.fma_peak_gflops = 100;
  machine.l2_gbytes = 50;
  machine.memory = {{1, 10}, {2, 16}};
  return machine;
}

TEST(Roofline, SharesAreWorkOverPeakOverTime) {
  // 10,000 operations, 28,000 bytes from L2, 20,200 + 800 bytes from memory in a microsecond.
  WorkloadResults group = one_result(BenchEngine::native, 1e-3, 800);
  const RooflineShares one = roofline_shares(group, group.results[0], machine_with_peaks());
  EXPECT_DOUBLE_EQ(one.fma.value(), 0.1);
  EXPECT_DOUBLE_EQ(one.l2.value(), 0.56);
  EXPECT_DOUBLE_EQ(one.memory.value(), 2.1);
  group.threads = 2;
  const RooflineShares two = roofline_shares(group, group.results[0], machine_with_peaks());
  EXPECT_DOUBLE_EQ(two.fma.value(), 0.05);
  EXPECT_DOUBLE_EQ(two.l2.value(), 0.28);
  EXPECT_DOUBLE_EQ(two.memory.value(), 2.1 * 10 / 16);
}

TEST(Roofline, EnginesWithoutCodeReadAnIndexForEachWeightAndPass) {
  WorkloadResults group = one_result(BenchEngine::interpreted, 1e-3, 0);
  BenchResult& result = group.results[0];
  EXPECT_DOUBLE_EQ(roofline_shares(group, result, machine_with_peaks()).memory.value(), 2.04);
  result.pass = TimedPass::total;
  const double bytes = 20'200 + 4 * (3 * 1000 + 2000 + 3 * 50) + 2 * 4 * 50;
  EXPECT_DOUBLE_EQ(roofline_shares(group, result, machine_with_peaks()).memory.value(),
                   bytes / 10'000);
}

TEST(Roofline, DenseHasAShareOfArithmeticOnlyAndUnmeasuredPeaksNone) {
  const WorkloadResults dense = one_result(BenchEngine::dense, 1e-3, 0);
  const RooflineShares shares = roofline_shares(dense, dense.results[0], machine_with_peaks());
  EXPECT_TRUE(shares.fma.has_value());
  EXPECT_FALSE(shares.l2.has_value() || shares.memory.has_value());
  const WorkloadResults native = one_result(BenchEngine::native, 1e-3, 0);
  const RooflineShares unknown = roofline_shares(native, native.results[0], BenchMachine{});
  EXPECT_FALSE(unknown.fma.has_value() || unknown.l2.has_value() || unknown.memory.has_value());
}

TEST(Crossover, InterpolatesTheLogarithmOverTheLogarithmOfTheDensity) {
  // Time proportional to the density: dense / native = 0.15 / (1 - sparsity), equal at 85%.
  const std::vector<SpeedUpPoint> points = {{0.5, 0.3}, {0.8, 0.75}, {0.9, 1.5}, {0.99, 15}};
  const Crossover crossover = find_crossover(points);
  EXPECT_EQ(crossover.side, CrossoverSide::at);
  EXPECT_NEAR(crossover.sparsity, 0.85, 1e-12);
  EXPECT_EQ(to_text(crossover), "85%");
}

TEST(Crossover, IsBeyondTheEndsOfASeriesThatDoesNotCross) {
  const std::vector<SpeedUpPoint> ahead = {{0.5, 1}, {0.9, 2}};
  EXPECT_EQ(to_text(find_crossover(ahead)), "below 50%");
  const std::vector<SpeedUpPoint> behind = {{0.5, 0.1}, {0.995, 0.9}};
  EXPECT_EQ(to_text(find_crossover(behind)), "above 99.5%");
}

TEST(Crossover, OfANoisySeriesIsTheLastUpwardOne) {
  const std::vector<SpeedUpPoint> points = {{0.5, 1.1}, {0.8, 0.5}, {0.9, 2}, {0.95, 3}};
  const Crossover crossover = find_crossover(points);
  EXPECT_GT(crossover.sparsity, 0.8);
  EXPECT_LT(crossover.sparsity, 0.9);
}

TEST(Crossover, ComparesWithTheFasterDenseLibraryAndFollowsThePicker) {
  Json report = report_of({result_of("native", 0.8, 4), result_of("native", 0.9, 1),
                           result_of("dense", 0.8, 9), result_of("onednn", 0.8, 2),
                           result_of("dense", 0.9, 2), result_of("onednn", 0.9, 9)});
  for (const auto& [engine, pass, ms] : std::vector<std::tuple<std::string, std::string, double>>{
           {"native", "forward", 1}, {"interpreted", "backward", 1}}) {
    for (const double sparsity : {0.8, 0.9}) {
      Json result = result_of(engine, sparsity, ms);
      result["pass"] = pass;
      result["chosen"] = true;
      report["results"].push_back(result);
    }
  }
  std::vector<SeriesCrossover> found = report_crossovers(report_lines(report));
  ASSERT_EQ(found.size(), 2U);  // totals: of native and of what was picked
  EXPECT_EQ(found[0].series.points, (std::vector<SpeedUpPoint>{{0.8, 0.5}, {0.9, 2}}));
  EXPECT_EQ(found[1].series.engine, kPicked);
  EXPECT_EQ(found[1].series.points, (std::vector<SpeedUpPoint>{{0.8, 1}, {0.9, 1}}));
}

TEST(Crossover, TableNamesEachLayerOnceAndPassesWhereTheyDiffer) {
  const auto series = [](const char* engine, const char* state, const char* pass, double factor) {
    return SpeedUps{"64x32 batch 8", false, 2, pass, engine, state, {{0.5, factor}, {0.9, 2}}};
  };
  const std::vector<SpeedUps> all = {
      series("native", "hot", "forward", 0.5), series("native", "hot", "total", 1),
      series("native", "cold", "forward", 1), series("native", "cold", "total", 1),
      series("picked", "hot", "total", 1)};
  EXPECT_EQ(crossover_table(find_crossovers(all)),
            "\nCrossover: the sparsity from which on it is at least as fast as dense\n"
            "  64x32 batch 8, 2 threads\n"
            "    native       hot forward 77.6%, total below 50%; cold below 50%\n"
            "    picked       hot below 50%\n");
  EXPECT_EQ(crossover_table({}), "");
}

TEST(Crossover, RealMasksAreNoCurve) {
  Json native = result_of("native", 0.9, 1);
  Json dense = result_of("dense", 0.9, 2);
  Json other_native = result_of("native", 0.8, 1);
  Json other_dense = result_of("dense", 0.8, 0.5);
  for (Json* result : {&native, &dense}) (*result)["mask"] = "a";
  for (Json* result : {&other_native, &other_dense}) (*result)["mask"] = "b";
  const Json report = report_of({native, dense, other_native, other_dense});
  const std::vector<SpeedUps> series = list_speed_ups(report_lines(report));
  ASSERT_EQ(series.size(), 1U);
  EXPECT_TRUE(series[0].real_masks);
  EXPECT_EQ(series[0].points, (std::vector<SpeedUpPoint>{{0.8, 0.5}, {0.9, 2}}));
  EXPECT_TRUE(find_crossovers(series).empty());
}

TEST(BreakEven, IsCompileTimeOverSavedTimeRoundedUp) {
  BenchResult native;
  native.compile_ms = 10;
  native.median_ms = 1;
  BenchResult interpreted;
  interpreted.median_ms = 4;
  EXPECT_EQ(break_even_calls(native, interpreted), 4);
  interpreted.median_ms = 1;
  EXPECT_EQ(break_even_calls(native, interpreted), std::nullopt);
}

TEST(BenchCsv, QuotesFieldsThatNeedIt) {
  EXPECT_EQ(csv_field("plain x"), "plain x");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(BenchCsv, HasALineForEachResultAndEmptyFieldsForNulls) {
  Json result = result_of("native", 0.9, 1.5);
  result["ran_on"] = "a,b";
  result["x_dense"] = nullptr;
  const std::string csv = to_csv(report_of({result, result}));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_NE(csv.find("\n,64x32,,,,,,,8,0.9,,1,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",total,native,hot,1.5,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",\"a,b\"\n"), std::string::npos) << csv;
}

TEST(BenchCsv, HasAColumnForEveryFieldOfAResult) {
  WorkloadResults group = one_result(BenchEngine::native, 1, 0);
  group.workload.mask_name = "mask";
  group.workload.conv = ConvGeometry{.kernel = 1, .conv = {}, .image = {1, 1}};
  const std::vector<WorkloadResults> groups = {group};
  const Json report = make_report(machine_with_peaks(), groups, std::nullopt);
  const std::string csv = to_csv(report);
  const std::string header = "," + csv.substr(0, csv.find('\n')) + ",";
  for (const auto& [field, value] : report["results"][0].items()) {
    EXPECT_NE(header.find("," + field + ","), std::string::npos) << field;
  }
}

TEST(BenchReport, ComparesEachResultWithItsBaselines) {
  WorkloadResults group = one_result(BenchEngine::native, 1, 0);
  group.results[0].compile_ms = 9;
  for (const auto& [engine, ms] : std::vector<std::pair<BenchEngine, double>>{
           {BenchEngine::interpreted, 4}, {BenchEngine::dense, 20}, {BenchEngine::onednn, 10}}) {
    group.results.push_back(group.results[0]);
    group.results.back().engine = engine;
    group.results.back().median_ms = ms;
  }
  const std::vector<WorkloadResults> groups = {group};
  const Json report = make_report(machine_with_peaks(), groups, std::nullopt);
  const Json& native = report["results"][0];
  EXPECT_EQ(native["x_dense"], 10.0);
  EXPECT_EQ(native["x_interpreted"], 4.0);
  EXPECT_TRUE(native["x_paper_loop"].is_null());
  EXPECT_EQ(native["break_even_calls"], 3.0);
  EXPECT_TRUE(report["results"][1]["break_even_calls"].is_null());
  EXPECT_EQ(report["results"][2]["x_dense"], 0.5);
}

}  // namespace
}  // namespace sparsejit::test
