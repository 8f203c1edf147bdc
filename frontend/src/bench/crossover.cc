// Interpolation and texts; see crossover.h.
#include "bench/crossover.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/options.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

const char* side_text(CrossoverSide side) {
  switch (side) {
    case CrossoverSide::at:
      return "at";
    case CrossoverSide::below:
      return "below";
    case CrossoverSide::above:
      return "above";
  }
  return "?";
}

double interpolate(const SpeedUpPoint& behind, const SpeedUpPoint& ahead) {
  const double low = std::log(1 - behind.sparsity);
  const double high = std::log(1 - ahead.sparsity);
  const double share = std::log(behind.factor) / (std::log(behind.factor) - std::log(ahead.factor));
  return 1 - std::exp(low + share * (high - low));
}

bool same_layer(const SpeedUps& left, const SpeedUps& right) {
  return left.layer == right.layer && left.threads == right.threads;
}

// "hot forward 57%, total below 50%"; "hot below 50%" where all passes say the same.
std::string state_text(const std::vector<const SeriesCrossover*>& passes) {
  std::set<std::string> distinct;
  std::string text;
  for (const SeriesCrossover* found : passes) {
    distinct.insert(to_text(found->crossover));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", found->series.pass,
                        to_text(found->crossover));
  }
  return passes.front()->series.state + " " + (distinct.size() == 1 ? *distinct.begin() : text);
}

// One line for each engine that `layer` was crossed by.
std::string layer_text(std::span<const SeriesCrossover> crossovers, const SpeedUps& layer) {
  std::map<std::string, std::map<std::string, std::vector<const SeriesCrossover*>>> engines;
  for (const SeriesCrossover& found : crossovers) {
    if (!same_layer(found.series, layer)) continue;
    engines[found.series.engine][found.series.state].push_back(&found);
  }
  std::string text;
  for (const auto& [engine, states] : engines) {
    std::string line;
    for (const CacheState state : {CacheState::hot, CacheState::cold}) {
      const auto found = states.find(to_text(state));
      if (found == states.end()) continue;
      line += (line.empty() ? "" : "; ") + state_text(found->second);
    }
    text += fmt::format("    {:<12} {}\n", engine, line);
  }
  return text;
}

}  // namespace

Crossover find_crossover(std::span<const SpeedUpPoint> points) {
  size_t ahead = points.size();  // from here on never behind
  while (ahead > 0 && points[ahead - 1].factor >= 1) --ahead;
  if (ahead == 0) return {CrossoverSide::below, points.front().sparsity};
  if (ahead == points.size()) return {CrossoverSide::above, points.back().sparsity};
  return {CrossoverSide::at, interpolate(points[ahead - 1], points[ahead])};
}

std::vector<SeriesCrossover> find_crossovers(std::span<const SpeedUps> all) {
  std::vector<SeriesCrossover> found;
  for (const SpeedUps& series : all) {
    const bool is_curve = !series.real_masks && series.points.size() > 1;
    const bool competes = series.engine == to_text(BenchEngine::native) ||
                          series.engine == to_text(BenchEngine::interpreted) ||
                          series.engine == kPicked;
    if (!is_curve || !competes) continue;
    found.push_back({series, find_crossover(series.points)});
  }
  return found;
}

std::vector<SeriesCrossover> report_crossovers(std::span<const ReportLine> lines) {
  std::vector<ReportLine> all(lines.begin(), lines.end());
  const std::vector<ReportLine> picked = list_picked(lines);
  all.insert(all.end(), picked.begin(), picked.end());
  return find_crossovers(list_speed_ups(all));
}

nlohmann::ordered_json crossovers_json(std::span<const SeriesCrossover> crossovers) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [series, crossover] : crossovers) {
    json.push_back({{"layer", series.layer},
                    {"threads", series.threads},
                    {"pass", series.pass},
                    {"engine", series.engine},
                    {"state", series.state},
                    {"side", side_text(crossover.side)},
                    {"sparsity", crossover.sparsity}});
  }
  return json;
}

std::string to_text(const Crossover& crossover) {
  std::string percent = fmt::format("{:.3g}%", 100 * crossover.sparsity);
  if (crossover.side == CrossoverSide::at) return percent;
  return fmt::format("{} {}", side_text(crossover.side), percent);
}

std::string crossover_table(std::span<const SeriesCrossover> crossovers) {
  if (crossovers.empty()) return "";
  std::string text = "\nCrossover: the sparsity from which on it is at least as fast as dense\n";
  for (size_t i = 0; i < crossovers.size(); ++i) {
    const SpeedUps& layer = crossovers[i].series;
    const auto before = crossovers.first(i);
    const bool known = std::any_of(before.begin(), before.end(), [&](const auto& earlier) {
      return same_layer(earlier.series, layer);
    });
    if (known) continue;
    text += fmt::format("  {}, {}\n", layer.layer, threads_text(layer.threads)) +
            layer_text(crossovers, layer);
  }
  return text;
}

}  // namespace sparsejit::frontend
