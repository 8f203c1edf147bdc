// SpeedUps: how many times faster than dense an engine is, over sparsity: a line of the plot, and
// what crossovers are found in.
//
//     speed-up                         o native
//        10 |                     o
//         1 |----------o---------------- dense
//           |   o
//           +--------------------------- density, logarithmic
//            50%      80%        95%
//
// Dense is the faster of the dense libraries of the same report, pass, state and layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/report_lines.h"

namespace sparsejit::frontend {

struct SpeedUpPoint {
  double sparsity = 0;
  double factor = 1;
  bool operator==(const SpeedUpPoint&) const = default;
};

struct SpeedUps {
  std::string layer;
  bool real_masks = false;  // points of different layers, no curve
  int threads = 1;
  std::string pass;
  std::string engine;
  std::string state;
  std::vector<SpeedUpPoint> points;  // ascending in sparsity
};

// What a user who leaves the choice to the library gets, as lines of an engine of this name: of
// each pass those of the engine that the picker took, and of "total" the sum of both.
inline constexpr const char* kPicked = "picked";
std::vector<ReportLine> list_picked(std::span<const ReportLine> lines);

// In the order of the lines. Lines without dense beside them are left out, dense itself, and empty
// masks, whose density has no logarithm. Lines with a mask from a file make one series of all
// layers.
std::vector<SpeedUps> list_speed_ups(std::span<const ReportLine> lines);

// "1 thread"
std::string threads_text(int threads);

}  // namespace sparsejit::frontend
