// The plot of `bench --svg`: axes, and the drawing as golden text.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/plot_axis.h"
#include "bench/speed_up_plot.h"
#include "bench/svg.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/reports.h"

namespace sparsejit::test {
namespace {

using namespace frontend;
using Json = nlohmann::ordered_json;

TEST(PlotAxis, SparsityIsLogarithmicInTheDensity) {
  const PlotAxis axis(PlotAxis::Kind::sparsity, 0.5, 0.995);
  const double half = axis.position(0.5);
  EXPECT_GT(half, 0);
  EXPECT_LT(axis.position(0.995), 1);
  EXPECT_NEAR(axis.position(0.99) - axis.position(0.9), axis.position(0.95) - half, 1e-12);
}

TEST(PlotAxis, TicksAreRoundInsideAndApart) {
  const PlotAxis axis(PlotAxis::Kind::sparsity, 0.5, 0.995);
  const std::vector<Tick> ticks = axis.ticks(300, 11);
  ASSERT_GE(ticks.size(), 4U);
  for (size_t i = 0; i < ticks.size(); ++i) {
    EXPECT_GE(axis.position(ticks[i].value), 0);
    EXPECT_LE(axis.position(ticks[i].value), 1);
    if (i == 0) continue;
    const double apart = 300 * (axis.position(ticks[i].value) - axis.position(ticks[i - 1].value));
    EXPECT_GT(apart, (text_width(ticks[i].label, 11) + text_width(ticks[i - 1].label, 11)) / 2)
        << ticks[i].label;
  }
  const auto has = [&](const std::string& label) {
    return std::any_of(ticks.begin(), ticks.end(), [&](const Tick& t) { return t.label == label; });
  };
  EXPECT_TRUE(has("50%") && has("90%") && has("99%"));
}

TEST(PlotAxis, EqualEndsStillMakeARange) {
  const PlotAxis axis(PlotAxis::Kind::factor, 1, 1);
  EXPECT_DOUBLE_EQ(axis.position(1), 0.5);
  EXPECT_GT(axis.position(1.2), 0.5);
}

TEST(Svg, EscapesTextAndRoundsNumbers) {
  SvgPage page(10, 20);
  page.text({1.04, -0.01}, "a<b & \"c\">", {});
  EXPECT_NE(page.to_string().find("x=\"1\" y=\"0\""), std::string::npos) << page.to_string();
  EXPECT_NE(page.to_string().find(">a&lt;b &amp; &quot;c&quot;&gt;</text>"), std::string::npos);
}

Json two_engines_hot_and_cold() {
  Json report = report_of({});
  for (const char* pass : {"forward", "total"}) {
    for (const char* state : {"hot", "cold"}) {
      for (const double sparsity : {0.5, 0.9, 0.99}) {
        for (const char* engine : {"native", "interpreted", "dense"}) {
          const bool dense = std::string(engine) == "dense";
          const double slower = std::string(engine) == "native" ? 1 : 1.25;
          Json result = result_of(engine, sparsity, dense ? 1 : slower * 5 * (1 - sparsity));
          result["pass"] = pass;
          result["state"] = state;
          if (std::string(state) == "cold" && !dense) result["median_ms"] = slower;
          report["results"].push_back(result);
        }
      }
    }
  }
  return report;
}

TEST(SpeedUpPlot, IsTheGoldenDrawing) {
  expect_golden("speed_up_plot.svg", plot_speed_ups(two_engines_hot_and_cold(), "--svg"));
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(SpeedUpPlot, HasALineForEachSeriesAndADotForEachPoint) {
  const std::string svg = plot_speed_ups(two_engines_hot_and_cold(), "--svg");
  EXPECT_EQ(count(svg, "<polyline"), 8U);        // passes x states x engines
  EXPECT_EQ(count(svg, "<circle"), 8U * 3 + 4);  // and in the legend
  EXPECT_EQ(count(svg, ">native</text>"), 1U);
  EXPECT_EQ(count(svg, "native ahead of dense from 80% hot, below 50% cold"), 2U);
}

TEST(SpeedUpPlot, RealMasksAreDotsWithoutALineAndEmptyOnesNothing) {
  Json report = report_of({});
  for (const auto& [mask, sparsity] :
       std::vector<std::pair<std::string, double>>{{"a", 0.9}, {"b", 0.95}, {"empty", 1.0}}) {
    for (const char* engine : {"native", "dense"}) {
      Json result = result_of(engine, sparsity, 1);
      result["mask"] = mask;
      report["results"].push_back(result);
    }
  }
  const std::string svg = plot_speed_ups(report, "--svg");
  EXPECT_EQ(count(svg, "<polyline"), 0U);
  EXPECT_EQ(count(svg, "<circle"), 2U + 1);
}

TEST(SpeedUpPlot, WithoutDenseOrWithOneSparsityIsRefused) {
  expect_error([] { plot_speed_ups(report_of({result_of("native", 0.9, 1)}), "--svg"); },
               {"--svg", "dense"});
  const Json report = report_of({result_of("native", 0.9, 1), result_of("dense", 0.9, 1)});
  expect_error([&] { plot_speed_ups(report, "--svg"); }, {"--svg", "0.9", "--sparsity sweep"});
}

}  // namespace
}  // namespace sparsejit::test
