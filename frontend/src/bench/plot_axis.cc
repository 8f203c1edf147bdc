// Logarithms and round numbers; see plot_axis.h.
#include "bench/plot_axis.h"

#include <algorithm>
#include <cmath>

#include "bench/svg.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr double kMargin = 0.06;         // of the range, on both sides
constexpr double kLeastRange = 0.30103;  // a factor of two
constexpr int kDecades = 6;

// The rounder ones first: they keep their labels where there is no room for all.
std::vector<double> round_sparsities() {
  std::vector<double> values;
  for (const double step : {1.0, 5.0, 2.0, 3.0, 4.0, 7.0, 1.5, 6.0}) {
    for (int decade = 0; decade < kDecades; ++decade) {
      values.push_back(1 - step * std::pow(10, -decade));
    }
  }
  return values;
}

std::vector<double> round_factors() {
  std::vector<double> values;
  for (const double step : {1.0, 5.0, 2.0, 3.0, 1.5, 4.0, 7.0, 1.2}) {
    for (int decade = -kDecades; decade < kDecades; ++decade) {
      values.push_back(step * std::pow(10, decade));
    }
  }
  return values;
}

}  // namespace

PlotAxis::PlotAxis(Kind kind, double low, double high)
    : kind_(kind), low_(logarithm(low)), high_(logarithm(high)) {
  const double lacking = std::max(0.0, kLeastRange - (high_ - low_));
  const double margin = lacking / 2 + kMargin * (high_ - low_ + lacking);
  low_ -= margin;
  high_ += margin;
}

double PlotAxis::logarithm(double value) const {
  return kind_ == Kind::sparsity ? -std::log10(1 - value) : std::log10(value);
}

double PlotAxis::position(double value) const { return (logarithm(value) - low_) / (high_ - low_); }

std::vector<Tick> PlotAxis::ticks(double length, double font_size) const {
  const bool sparsity = kind_ == Kind::sparsity;
  std::vector<Tick> ticks;
  for (const double value : sparsity ? round_sparsities() : round_factors()) {
    if (value < 0 || (sparsity && value >= 1)) continue;
    const double at = position(value);
    if (at < 0 || at > 1) continue;
    const Tick tick{value,
                    sparsity ? fmt::format("{:.6g}%", 100 * value) : fmt::format("{:.6g}x", value)};
    // Labels lie along x, and across y.
    const auto touches = [&](const Tick& other) {
      const double apart = std::abs(position(other.value) - at) * length;
      const double widths =
          (text_width(tick.label, font_size) + text_width(other.label, font_size)) / 2;
      return apart < (sparsity ? widths + 0.9 * font_size : 1.6 * font_size);
    };
    if (std::none_of(ticks.begin(), ticks.end(), touches)) ticks.push_back(tick);
  }
  std::sort(ticks.begin(), ticks.end(),
            [](const Tick& left, const Tick& right) { return left.value < right.value; });
  return ticks;
}

}  // namespace sparsejit::frontend
