// Lines to series; see speed_ups.h.
#include "bench/speed_ups.h"

#include <algorithm>

#include "bench/options.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr const char* kRealMasks = "real masks";

bool is_dense(const ReportLine& line) {
  return line.engine == to_text(BenchEngine::dense) || line.engine == to_text(BenchEngine::onednn);
}

// Of the faster dense library; 0 if none was measured.
double dense_ms(std::span<const ReportLine> lines, const ReportLine& sparse) {
  double fastest = 0;
  for (const ReportLine& line : lines) {
    if (!is_dense(line)) continue;
    ReportLine same = sparse;
    same.engine = line.engine;
    if (!same_parameters(same, line)) continue;
    fastest = fastest == 0 ? line.median_ms : std::min(fastest, line.median_ms);
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

// Null when there is none.
const ReportLine* find_backward(std::span<const ReportLine> picked, ReportLine forward) {
  forward.pass = to_text(TimedPass::backward);
  const auto found = std::find_if(picked.begin(), picked.end(), [&](const ReportLine& line) {
    return same_parameters(line, forward);
  });
  return found == picked.end() ? nullptr : &*found;
}

}  // namespace

std::vector<ReportLine> list_picked(std::span<const ReportLine> lines) {
  std::vector<ReportLine> picked;
  for (const ReportLine& line : lines) {
    if (line.chosen && line.pass != to_text(TimedPass::total)) picked.push_back(as_picked(line));
  }
  std::vector<ReportLine> totals;
  for (const ReportLine& line : picked) {
    if (line.pass != to_text(TimedPass::forward)) continue;
    const ReportLine* backward = find_backward(picked, line);
    if (backward == nullptr) continue;
    totals.push_back(line);
    totals.back().pass = to_text(TimedPass::total);
    totals.back().median_ms += backward->median_ms;
  }
  picked.insert(picked.end(), totals.begin(), totals.end());
  return picked;
}

std::vector<SpeedUps> list_speed_ups(std::span<const ReportLine> lines) {
  std::vector<SpeedUps> all;
  for (const ReportLine& line : lines) {
    const double dense = dense_ms(lines, line);
    if (dense == 0 || is_dense(line)) continue;
    find_series(line, all).points.push_back({line.sparsity, dense / line.median_ms});
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
