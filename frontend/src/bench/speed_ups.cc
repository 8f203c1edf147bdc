// Lines to series; see speed_ups.h.
#include "bench/speed_ups.h"

#include <algorithm>
#include <unordered_map>

#include "bench/options.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr const char* kRealMasks = "real masks";

bool is_dense(const ReportLine& line) {
  return line.engine == to_text(BenchEngine::dense) || line.engine == to_text(BenchEngine::onednn);
}

std::string key_without_engine(ReportLine line) {
  line.engine.clear();
  return line_key(line);
}

// Milliseconds of the faster dense library, by key_without_engine.
std::unordered_map<std::string, double> list_dense(std::span<const ReportLine> lines) {
  std::unordered_map<std::string, double> fastest;
  for (const ReportLine& line : lines) {
    if (!is_dense(line)) continue;
    const auto [known, is_new] = fastest.emplace(key_without_engine(line), line.median_ms);
    if (!is_new) known->second = std::min(known->second, line.median_ms);
  }
  return fastest;
}

SpeedUps& find_series(const ReportLine& line, std::vector<SpeedUps>& all) {
  const bool real_mask = !line.mask.empty();
  const std::string layer = real_mask ? kRealMasks : line.layer;
  const auto found = std::find_if(all.begin(), all.end(), [&](const SpeedUps& series) {
    return series.layer == layer && series.threads == line.threads && series.pass == line.pass &&
           series.engine == line.engine && series.state == line.state;
  });
  if (found != all.end()) return *found;
  all.push_back({layer, real_mask, line.threads, line.pass, line.engine, line.state, {}});
  return all.back();
}

ReportLine as_picked(ReportLine line) {
  line.engine = kPicked;
  return line;
}

}  // namespace

std::vector<ReportLine> list_picked(std::span<const ReportLine> lines) {
  std::vector<ReportLine> picked;
  for (const ReportLine& line : lines) {
    if (line.chosen && line.pass != to_text(TimedPass::total)) picked.push_back(as_picked(line));
  }
  std::unordered_map<std::string, double> backward_ms;
  for (const ReportLine& line : picked) {
    if (line.pass == to_text(TimedPass::backward)) backward_ms[describe(line)] = line.median_ms;
  }
  std::vector<ReportLine> totals;
  for (const ReportLine& line : picked) {
    const auto backward = backward_ms.find(describe(line));
    if (line.pass != to_text(TimedPass::forward) || backward == backward_ms.end()) continue;
    totals.push_back(line);
    totals.back().pass = to_text(TimedPass::total);
    totals.back().median_ms += backward->second;
  }
  picked.insert(picked.end(), totals.begin(), totals.end());
  return picked;
}

std::vector<SpeedUps> list_speed_ups(std::span<const ReportLine> lines) {
  const std::unordered_map<std::string, double> dense_ms = list_dense(lines);
  std::vector<SpeedUps> all;
  for (const ReportLine& line : lines) {
    const auto dense = dense_ms.find(key_without_engine(line));
    if (is_dense(line) || dense == dense_ms.end() || line.sparsity >= 1) continue;
    find_series(line, all).points.push_back({line.sparsity, dense->second / line.median_ms});
  }
  for (SpeedUps& series : all) {
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const SpeedUpPoint& left, const SpeedUpPoint& right) {
                       return left.sparsity < right.sparsity;
                     });
  }
  return all;
}

std::string threads_text(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

}  // namespace sparsejit::frontend
