// Axes of the speed-up plot: positions and ticks. Both are logarithmic: x in the density (1 minus
// the sparsity), as in the paper's figures, y in the speed-up.
//
//     |----|----------|------|----------|
//     50%  60%        80%    85%        90%
//
// Pure.
#pragma once

#include <string>
#include <vector>

namespace sparsejit::frontend {

struct Tick {
  double value = 0;
  std::string label;
  bool operator==(const Tick&) const = default;
};

// A range of values onto 0..1.
class PlotAxis {
 public:
  enum class Kind { sparsity, factor };
  // Values from `low` to `high`, which are widened a little, more where they are equal.
  PlotAxis(Kind kind, double low, double high);

  double position(double value) const;
  // Round values inside, whose labels do not touch on an axis of `length` pixels.
  std::vector<Tick> ticks(double length, double font_size) const;

 private:
  double logarithm(double value) const;

  Kind kind_;
  double low_ = 0;  // logarithms
  double high_ = 1;
};

}  // namespace sparsejit::frontend
