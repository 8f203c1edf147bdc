// Layout of the plot; see speed_up_plot.h. Everything is placed from the constants below.
#include "bench/speed_up_plot.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/crossover.h"
#include "bench/options.h"
#include "bench/plot_panel.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr double kLeft = 74;  // of the first panel: label and ticks of y
constexpr double kGap = 22;   // between panels
constexpr double kRight = 24;
constexpr double kTop = 84;        // title and legend
constexpr double kRowHeader = 62;  // layer, pass and crossover above the panels of a row
constexpr double kRowFooter = 48;  // ticks and label of x

// One panel's series share layer, threads and pass; a row's layer and threads.
struct Row {
  std::string layer;
  int threads = 1;
};

struct Plot {
  std::vector<SpeedUps> series;
  std::vector<Row> rows;
  std::vector<std::string> passes;   // columns
  std::vector<std::string> engines;  // in the legend
  std::set<std::string> states;
  std::set<double> sparsities;
};

template <typename Value, typename Same>
void add_new(std::vector<Value>& values, const Value& value, const Same& same) {
  if (std::none_of(values.begin(), values.end(), same)) values.push_back(value);
}

Plot collect(const nlohmann::ordered_json& report) {
  Plot plot;
  plot.series = list_speed_ups(report_lines(report));
  std::erase_if(plot.series, [](const SpeedUps& series) {
    return series.engine == to_text(BenchEngine::portable);
  });
  for (const SpeedUps& series : plot.series) {
    add_new(plot.rows, Row{series.layer, series.threads}, [&](const Row& row) {
      return row.layer == series.layer && row.threads == series.threads;
    });
    add_new(plot.passes, series.pass, [&](const std::string& p) { return p == series.pass; });
    add_new(plot.engines, series.engine, [&](const std::string& e) { return e == series.engine; });
    plot.states.insert(series.state);
    for (const SpeedUpPoint& point : series.points) plot.sparsities.insert(point.sparsity);
  }
  return plot;
}

std::vector<const SpeedUps*> select(const Plot& plot, const Row& row, const std::string& pass) {
  std::vector<const SpeedUps*> selected;
  for (const SpeedUps& series : plot.series) {
    const bool in_row = series.layer == row.layer && series.threads == row.threads;
    if (in_row && (pass.empty() || series.pass == pass)) selected.push_back(&series);
  }
  return selected;
}

// The axes of a row, so that its panels can be compared.
PlotAxis axis_of(const std::vector<const SpeedUps*>& all, PlotAxis::Kind kind) {
  const bool is_factor = kind == PlotAxis::Kind::factor;
  const SpeedUpPoint& first = all.front()->points.front();
  double low = is_factor ? 1 : first.sparsity;  // dense is always in sight
  double high = low;
  for (const SpeedUps* series : all) {
    for (const SpeedUpPoint& point : series->points) {
      const double value = is_factor ? point.factor : point.sparsity;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return {kind, low, high};
}

// "native crosses dense at 57% hot, 60% cold"
std::string crossover_note(const std::vector<const SpeedUps*>& panel) {
  std::vector<SpeedUps> native;
  for (const SpeedUps* series : panel) {
    if (series->engine == to_text(BenchEngine::native)) native.push_back(*series);
  }
  std::string note;
  for (const SeriesCrossover& found : find_crossovers(native)) {
    note += fmt::format("{}{} {}", note.empty() ? "native ahead of dense from " : ", ",
                        to_text(found.crossover), found.series.state);
  }
  return note;
}

void draw_row(SvgPage& page, const Plot& plot, const Row& row, double top) {
  const std::vector<const SpeedUps*> all = select(plot, row, "");
  const PlotAxis x = axis_of(all, PlotAxis::Kind::sparsity);
  const PlotAxis y = axis_of(all, PlotAxis::Kind::factor);
  page.text({kLeft, top + 16}, fmt::format("{}, {}", row.layer, threads_text(row.threads)),
            {14, SvgAnchor::start, "#222222", true});
  const double panel_top = top + kRowHeader;
  page.vertical_text({20, panel_top + kPanelHeight / 2}, "speed-up over dense",
                     {kTickSize, SvgAnchor::middle, kGrey});
  for (size_t column = 0; column < plot.passes.size(); ++column) {
    const double left = kLeft + static_cast<double>(column) * (kPanelWidth + kGap);
    std::vector<const SpeedUps*> selected = select(plot, row, plot.passes[column]);
    page.text({left, panel_top - 24}, plot.passes[column], {12.5});
    page.text({left, panel_top - 8}, crossover_note(selected), {10.5, SvgAnchor::start, kGrey});
    PlotPanel panel(page, {left, panel_top}, x, y);
    panel.draw_frame(column == 0);
    std::reverse(selected.begin(), selected.end());  // the first engine on top of the others
    for (const SpeedUps* series : selected) panel.draw(*series);
  }
}

// A sample of each line with its name; starts a new line where the page ends.
class Legend {
 public:
  Legend(SvgPage& page, double width) : page_(page), right_(width - kRight) {}

  void add(const std::string& name, const SvgStroke& stroke, const std::string& fill) {
    constexpr double kSample = 30;
    constexpr double kSpace = 18;
    const double needed = kSample + 6 + text_width(name, kSize) + kSpace;
    if (x_ + needed > right_) {
      x_ = kLeft;
      y_ += 18;
    }
    page_.line({x_, y_ - 4}, {x_ + kSample, y_ - 4}, stroke);
    if (!fill.empty())
      page_.circle({x_ + kSample / 2, y_ - 4}, kDotRadius, {stroke.color, 1.5}, fill);
    page_.text({x_ + kSample + 6, y_}, name, {kSize});
    x_ += needed;
  }

 private:
  static constexpr double kSize = 12;
  SvgPage& page_;
  double right_;
  double x_ = kLeft;
  double y_ = 70;
};

// A report from a file may say anything of its machine.
std::string machine_text(const nlohmann::ordered_json& report, const char* field) {
  const nlohmann::ordered_json machine = report.value("machine", nlohmann::ordered_json());
  return machine.contains(field) && machine[field].is_string() ? machine[field].get<std::string>()
                                                               : "?";
}

void draw_head(SvgPage& page, const Plot& plot, const nlohmann::ordered_json& report,
               double width) {
  page.text({kLeft, 28}, "Speed-up over the faster dense library",
            {17, SvgAnchor::start, "#222222", true});
  page.text({kLeft, 47},
            fmt::format("{}; dense: {}, {}", machine_text(report, "cpu"),
                        machine_text(report, "dense_library"),
                        machine_text(report, "dense_conv_library")),
            {11.5, SvgAnchor::start, kGrey});
  Legend legend(page, width);
  for (const std::string& engine : plot.engines) {
    legend.add(engine, series_stroke(engine, to_text(CacheState::hot)), series_color(engine));
  }
  legend.add("dense", {kGrey, 1.5}, "");
  if (plot.states.size() < 2) return;
  legend.add("hot", {kGrey, 2}, kGrey);
  legend.add("cold", {kGrey, 2, "6 4"}, "#ffffff");
}

}  // namespace

void validate_plottable(const std::set<double>& sparsities, bool compared,
                        std::string_view option) {
  if (!compared) {
    throw_error("{}: nothing was measured beside dense, expected dense and another engine", option);
  }
  if (sparsities.size() > 1) return;
  const std::string only = sparsities.empty()
                               ? "no sparsity below 1"
                               : fmt::format("sparsity {:.6g} only", *sparsities.begin());
  throw_error("{}: {}, expected two or more such as --sparsity sweep", option, only);
}

std::string plot_speed_ups(const nlohmann::ordered_json& report, std::string_view option) {
  const Plot plot = collect(report);
  validate_plottable(plot.sparsities, !plot.series.empty(), option);
  const auto columns = static_cast<double>(plot.passes.size());
  // A single column still has room for the title and the machine.
  const double width = std::max(kLeft + columns * (kPanelWidth + kGap) - kGap + kRight, 620.0);
  const double row_height = kRowHeader + kPanelHeight + kRowFooter;
  const double height = kTop + static_cast<double>(plot.rows.size()) * row_height + 8;
  SvgPage page(width, height);
  page.rectangle({0, 0}, width, height, "#ffffff");
  draw_head(page, plot, report, width);
  for (size_t row = 0; row < plot.rows.size(); ++row) {
    draw_row(page, plot, plot.rows[row], kTop + static_cast<double>(row) * row_height);
  }
  return page.to_string();
}

}  // namespace sparsejit::frontend
