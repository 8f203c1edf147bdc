// Grid, lines and dots; see plot_panel.h.
#include "bench/plot_panel.h"

#include "bench/options.h"

namespace sparsejit::frontend {
namespace {

constexpr const char* kGrid = "#e4e4e4";
constexpr const char* kBackground = "#fafafa";

bool is_hot(const std::string& state) { return state == to_text(CacheState::hot); }

}  // namespace

// Okabe and Ito's colors, which the color-blind can tell apart.
std::string series_color(const std::string& engine) {
  if (engine == to_text(BenchEngine::native)) return "#0072b2";
  if (engine == to_text(BenchEngine::interpreted)) return "#e69f00";
  if (engine == to_text(BenchEngine::paper_loop)) return "#009e73";
  if (engine == to_text(BenchEngine::mkl_sparse)) return "#cc79a7";
  return "#999999";
}

SvgStroke series_stroke(const std::string& engine, const std::string& state) {
  return {series_color(engine), 2, is_hot(state) ? "" : "6 4"};
}

PlotPanel::PlotPanel(SvgPage& page, SvgPoint corner, const PlotAxis& x, const PlotAxis& y)
    : page_(page), corner_(corner), x_(x), y_(y) {}

SvgPoint PlotPanel::at(const SpeedUpPoint& point) const {
  return {corner_.x + x_.position(point.sparsity) * kPanelWidth,
          corner_.y + (1 - y_.position(point.factor)) * kPanelHeight};
}

void PlotPanel::draw_x_ticks() {
  const double bottom = corner_.y + kPanelHeight;
  for (const Tick& tick : x_.ticks(kPanelWidth, kTickSize)) {
    const double x = at({tick.value, 1}).x;
    page_.line({x, corner_.y}, {x, bottom}, {kGrid, 1});
    page_.text({x, bottom + 15}, tick.label, {kTickSize, SvgAnchor::middle});
  }
}

void PlotPanel::draw_y_ticks(bool with_labels) {
  for (const Tick& tick : y_.ticks(kPanelHeight, kTickSize)) {
    const double y = at({0, tick.value}).y;
    page_.line({corner_.x, y}, {corner_.x + kPanelWidth, y}, {kGrid, 1});
    if (with_labels) page_.text({corner_.x - 7, y + 4}, tick.label, {kTickSize, SvgAnchor::end});
  }
}

void PlotPanel::draw_frame(bool with_y_labels) {
  page_.rectangle(corner_, kPanelWidth, kPanelHeight, kBackground);
  draw_x_ticks();
  draw_y_ticks(with_y_labels);
  const double bottom = corner_.y + kPanelHeight;
  const double right = corner_.x + kPanelWidth;
  const double dense = at({0, 1}).y;
  page_.line({corner_.x, dense}, {right, dense}, {kGrey, 1.5});
  page_.line({corner_.x, bottom}, {right, bottom}, {kGrey, 1});
  page_.line(corner_, {corner_.x, bottom}, {kGrey, 1});
  page_.text({corner_.x + kPanelWidth / 2, bottom + 33}, "sparsity",
             {kTickSize, SvgAnchor::middle, kGrey});
}

void PlotPanel::draw(const SpeedUps& series) {
  const SvgStroke stroke = series_stroke(series.engine, series.state);
  std::vector<SvgPoint> points;
  for (const SpeedUpPoint& point : series.points) points.push_back(at(point));
  if (!series.real_masks && points.size() > 1) page_.polyline(points, stroke);
  for (const SvgPoint& point : points) {
    page_.circle(point, kDotRadius, {stroke.color, 1.5},
                 is_hot(series.state) ? stroke.color : kBackground);
  }
}

}  // namespace sparsejit::frontend
