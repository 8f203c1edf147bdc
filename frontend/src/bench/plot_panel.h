// PlotPanel: one coordinate system of the speed-up plot, and the looks of its series.
#pragma once

#include <string>

#include "bench/plot_axis.h"
#include "bench/speed_ups.h"
#include "bench/svg.h"

namespace sparsejit::frontend {

inline constexpr double kPanelWidth = 300;
inline constexpr double kPanelHeight = 210;
inline constexpr double kTickSize = 11;
inline constexpr double kDotRadius = 3.2;
inline constexpr const char* kGrey = "#666666";

std::string series_color(const std::string& engine);
// Solid or, of cold series, dashed.
SvgStroke series_stroke(const std::string& engine, const std::string& state);

class PlotPanel {
 public:
  // `corner`: upper left, of the coordinate system without labels.
  PlotPanel(SvgPage& page, SvgPoint corner, const PlotAxis& x, const PlotAxis& y);

  // Grid, ticks, and the line of dense at 1; labels of y only if asked for.
  void draw_frame(bool with_y_labels);
  void draw(const SpeedUps& series);

 private:
  void draw_x_ticks();
  void draw_y_ticks(bool with_labels);
  SvgPoint at(const SpeedUpPoint& point) const;

  SvgPage& page_;
  SvgPoint corner_;
  const PlotAxis& x_;
  const PlotAxis& y_;
};

}  // namespace sparsejit::frontend
