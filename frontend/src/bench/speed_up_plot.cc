// Layout of the plot; see speed_up_plot.h. Everything is placed from the constants below.
#include "bench/speed_up_plot.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/crossover.h"
#include "bench/options.h"
#include "bench/plot_axis.h"
#include "bench/svg.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr double kPanelWidth = 300;
constexpr double kPanelHeight = 210;
constexpr double kLeft = 74;  // of the first panel: label and ticks of y
constexpr double kGap = 22;   // between panels
constexpr double kRight = 24;
constexpr double kTop = 84;        // title and legend
constexpr double kRowHeader = 62;  // layer, pass and crossover above the panels of a row
constexpr double kRowFooter = 48;  // ticks and label of x
constexpr double kTickSize = 11;
constexpr double kDot = 3.2;
constexpr const char* kGrid = "#e4e4e4";
constexpr const char* kGrey = "#666666";
constexpr const char* kPanel = "#fafafa";

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

// Okabe and Ito's colors, which the color-blind can tell apart.
std::string color_of(const std::string& engine) {
  if (engine == to_text(BenchEngine::native)) return "#0072b2";
  if (engine == to_text(BenchEngine::interpreted)) return "#e69f00";
  if (engine == to_text(BenchEngine::paper_loop)) return "#009e73";
  if (engine == to_text(BenchEngine::mkl_sparse)) return "#cc79a7";
  return "#999999";
}

bool is_hot(const std::string& state) { return state == to_text(CacheState::hot); }

SvgStroke stroke_of(const std::string& engine, const std::string& state) {
  return {color_of(engine), 2, is_hot(state) ? "" : "6 4"};
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

class Panel {
 public:
  Panel(SvgPage& page, SvgPoint corner, const PlotAxis& x, const PlotAxis& y)
      : page_(page), corner_(corner), x_(x), y_(y) {}

  void draw_frame(bool with_y_labels) {
    page_.rectangle(corner_, kPanelWidth, kPanelHeight, kPanel);
    const double bottom = corner_.y + kPanelHeight;
    for (const Tick& tick : x_.ticks(kPanelWidth, kTickSize)) {
      const double x = corner_.x + x_.position(tick.value) * kPanelWidth;
      page_.line({x, corner_.y}, {x, bottom}, {kGrid, 1});
      page_.text({x, bottom + 15}, tick.label, {kTickSize, SvgAnchor::middle});
    }
    for (const Tick& tick : y_.ticks(kPanelHeight, kTickSize)) {
      const double y = at({0, tick.value}).y;
      page_.line({corner_.x, y}, {corner_.x + kPanelWidth, y}, {kGrid, 1});
      if (with_y_labels) {
        page_.text({corner_.x - 7, y + 4}, tick.label, {kTickSize, SvgAnchor::end});
      }
    }
    const double dense = at({0, 1}).y;
    page_.line({corner_.x, dense}, {corner_.x + kPanelWidth, dense}, {kGrey, 1.5});
    page_.line({corner_.x, bottom}, {corner_.x + kPanelWidth, bottom}, {kGrey, 1});
    page_.line(corner_, {corner_.x, bottom}, {kGrey, 1});
    page_.text({corner_.x + kPanelWidth / 2, bottom + 33}, "sparsity",
               {kTickSize, SvgAnchor::middle, kGrey});
  }

  void draw(const SpeedUps& series) {
    const SvgStroke stroke = stroke_of(series.engine, series.state);
    std::vector<SvgPoint> points;
    for (const SpeedUpPoint& point : series.points) points.push_back(at(point));
    if (!series.real_masks && points.size() > 1) page_.polyline(points, stroke);
    for (const SvgPoint& point : points) {
      page_.circle(point, kDot, {stroke.color, 1.5}, is_hot(series.state) ? stroke.color : kPanel);
    }
  }

 private:
  SvgPoint at(const SpeedUpPoint& point) const {
    return {corner_.x + x_.position(point.sparsity) * kPanelWidth,
            corner_.y + (1 - y_.position(point.factor)) * kPanelHeight};
  }

  SvgPage& page_;
  SvgPoint corner_;
  const PlotAxis& x_;
  const PlotAxis& y_;
};

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
    const std::vector<const SpeedUps*> selected = select(plot, row, plot.passes[column]);
    page.text({left, panel_top - 24}, plot.passes[column], {12.5});
    page.text({left, panel_top - 8}, crossover_note(selected), {10.5, SvgAnchor::start, kGrey});
    Panel panel(page, {left, panel_top}, x, y);
    panel.draw_frame(column == 0);
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
    if (!fill.empty()) page_.circle({x_ + kSample / 2, y_ - 4}, kDot, {stroke.color, 1.5}, fill);
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

void draw_head(SvgPage& page, const Plot& plot, const nlohmann::ordered_json& report,
               double width) {
  const nlohmann::ordered_json machine = report.value("machine", nlohmann::ordered_json::object());
  page.text({kLeft, 28}, "Speed-up over the faster dense library",
            {17, SvgAnchor::start, "#222222", true});
  page.text(
      {kLeft, 47},
      fmt::format("{}; dense: {}, {}", machine.value("cpu", "unknown CPU"),
                  machine.value("dense_library", "?"), machine.value("dense_conv_library", "?")),
      {11.5, SvgAnchor::start, kGrey});
  Legend legend(page, width);
  for (const std::string& engine : plot.engines) {
    legend.add(engine, stroke_of(engine, to_text(CacheState::hot)), color_of(engine));
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
  if (sparsities.size() < 2) {
    throw_error("{}: {:.6g} is the only sparsity, expected two or more such as --sparsity sweep",
                option, *sparsities.begin());
  }
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
