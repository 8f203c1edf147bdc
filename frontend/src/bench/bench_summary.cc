// Means and losses; see bench_summary.h.
#include "bench/bench_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr std::array kStates = {CacheState::hot, CacheState::cold};
constexpr std::array kTimedPasses = {TimedPass::forward, TimedPass::backward, TimedPass::total};

// None: what the picker took.
using Subject = std::optional<BenchEngine>;

// How many times faster an engine is than another one in one workload.
struct SpeedUp {
  const WorkloadResults* group = nullptr;
  TimedPass pass = TimedPass::total;
  CacheState state = CacheState::hot;
  double factor = 1;
};

// BenchEngine::dense stands for the faster dense library.
std::vector<SpeedUp> speed_ups(std::span<const WorkloadResults> groups, TimedPass pass,
                               CacheState state, Subject subject, BenchEngine other) {
  std::vector<SpeedUp> found;
  for (const WorkloadResults& group : groups) {
    const std::optional<double> ms = find_median(group, pass, subject, state);
    const BenchResult* slower = other == BenchEngine::dense
                                    ? find_dense(group, pass, state)
                                    : find_result(group, pass, other, state);
    if (!ms || slower == nullptr || *ms <= 0) continue;
    found.push_back({&group, pass, state, slower->median_ms / *ms});
  }
  return found;
}

std::string mean_text(const std::vector<SpeedUp>& factors) {
  if (factors.empty()) return "-";
  double logarithms = 0;
  for (const SpeedUp& factor : factors) logarithms += std::log(factor.factor);
  return fmt::format("{:.2f}x", std::exp(logarithms / static_cast<double>(factors.size())));
}

// "-" in a pass that was not timed; no line when none was.
std::string means_line(std::span<const WorkloadResults> groups, Subject subject, BenchEngine other,
                       CacheState state) {
  const char* name = subject ? to_text(*subject) : "picked";
  std::string text =
      fmt::format("  {:<24}", fmt::format("{}/{} {}", name, to_text(other), to_text(state)));
  bool timed = false;
  for (const TimedPass pass : kTimedPasses) {
    const std::vector<SpeedUp> factors = speed_ups(groups, pass, state, subject, other);
    timed = timed || !factors.empty();
    text += fmt::format(" {:>9}", mean_text(factors));
  }
  return timed ? text + "\n" : "";
}

std::string means(std::span<const WorkloadResults> groups) {
  std::string text;
  for (const BenchEngine other : {BenchEngine::interpreted, BenchEngine::paper_loop,
                                  BenchEngine::dense, BenchEngine::mkl_sparse}) {
    for (const CacheState state : kStates) {
      text += means_line(groups, BenchEngine::native, other, state);
    }
  }
  for (const CacheState state : kStates) {
    text += means_line(groups, std::nullopt, BenchEngine::interpreted, state);
  }
  if (text.empty()) return "";
  return fmt::format("  {:<24} {:>9} {:>9} {:>9}\n", "geometric means", "forward", "backward",
                     "total") +
         text;
}

std::string picked_text(const WorkloadResults& group, TimedPass pass, CacheState state) {
  for (const BenchResult& result : group.results) {
    if (result.pass == pass && result.state == state && result.chosen) {
      return fmt::format(" (picked {})", to_text(result.engine));
    }
  }
  return "";
}

std::string losses(std::span<const WorkloadResults> groups, BenchEngine other) {
  std::string text;
  for (const CacheState state : kStates) {
    for (const TimedPass pass : kTimedPasses) {
      for (const SpeedUp& factor : speed_ups(groups, pass, state, BenchEngine::native, other)) {
        if (factor.factor >= 1 - kNoise) continue;
        text += fmt::format("  native at {:.2f}x of {}: {}, {} {}{}\n", factor.factor,
                            to_text(other), describe(*factor.group), to_text(state), to_text(pass),
                            picked_text(*factor.group, pass, state));
      }
    }
  }
  return text;
}

// The picked engine against the faster of native and interpreted, forward and backward.
std::string picker_lines(std::span<const WorkloadResults> groups) {
  std::string text;
  double worst = 1;
  int picks = 0;
  for (const WorkloadResults& group : groups) {
    for (const BenchResult& result : group.results) {
      if (!result.chosen || result.pass == TimedPass::total) continue;
      double best_ms = result.median_ms;
      for (const BenchEngine engine : {BenchEngine::native, BenchEngine::interpreted}) {
        const BenchResult* other = find_result(group, result.pass, engine, result.state);
        if (other != nullptr) best_ms = std::min(best_ms, other->median_ms);
      }
      const double share = best_ms / result.median_ms;
      worst = std::min(worst, share);
      ++picks;
      if (share >= 1 - kNoise) continue;
      text += fmt::format("  picked {} at {:.2f}x of the faster engine: {}, {} {}\n",
                          to_text(result.engine), share, describe(group), to_text(result.state),
                          to_text(result.pass));
    }
  }
  if (picks == 0) return "";
  return fmt::format("  picker: {} picks, the worst at {:.2f}x of the faster engine\n", picks,
                     worst) +
         text;
}

}  // namespace

std::string summary(std::span<const WorkloadResults> groups) {
  const std::string text = means(groups) + picker_lines(groups) +
                           losses(groups, BenchEngine::interpreted) +
                           losses(groups, BenchEngine::dense);
  return text.empty() ? "" : "\nSummary\n" + text;
}

}  // namespace sparsejit::frontend
