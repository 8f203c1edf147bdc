// Crossover: the sparsity from which on an engine is at least as fast as dense.
//
// Between two measured sparsities the logarithm of the speed-up is taken to be linear in the
// logarithm of the density, which is exact where time is proportional to the stored weights:
//
//     80%: 0.5x   90%: 2x    ->   1x half-way in the logarithm, at 85.9%
//
// Where a noisy series crosses more than once, the last upward crossing counts: from there on the
// engine stays ahead. In JSON: {"layer", "threads", "pass", "engine", "state",
// "side": "at"|"below"|"above", "sparsity"}; "below" the lowest and "above" the highest sparsity
// that was measured, which is the number given then.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/speed_ups.h"

namespace sparsejit::frontend {

enum class CrossoverSide { at, below, above };

struct Crossover {
  CrossoverSide side = CrossoverSide::at;
  double sparsity = 0;
};

// `points` ascending in sparsity, at least one.
Crossover find_crossover(std::span<const SpeedUpPoint> points);

struct SeriesCrossover {
  SpeedUps series;
  Crossover crossover;
};

// Of every series with two sparsities or more of one layer, of native, interpreted and picked.
std::vector<SeriesCrossover> find_crossovers(std::span<const SpeedUps> all);
// The same of all lines of a report, with what was picked.
std::vector<SeriesCrossover> report_crossovers(std::span<const ReportLine> lines);

nlohmann::ordered_json crossovers_json(std::span<const SeriesCrossover> crossovers);

// "57%", "below 50%", "above 99.5%"
std::string to_text(const Crossover& crossover);

// Of each layer and number of threads a line for each engine; empty without crossovers.
std::string crossover_table(std::span<const SeriesCrossover> crossovers);

}  // namespace sparsejit::frontend
