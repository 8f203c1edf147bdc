// Best of a few; see trial.h.
#include "bench/trial.h"

#include <algorithm>
#include <chrono>

namespace sparsejit::frontend {
namespace {

constexpr int kTrials = 3;
constexpr double kLongSeconds = 0.5;

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return seconds.count();
}

}  // namespace

double best_trial_seconds(const std::function<void()>& call) {
  const double first = seconds_of(call);
  if (first > kLongSeconds) return first;
  double best = seconds_of(call);
  for (int trial = 1; trial < kTrials; ++trial) best = std::min(best, seconds_of(call));
  return best;
}

Layout faster_layout(const std::function<void(Layout)>& run) {
  const auto seconds = [&](Layout layout) { return best_trial_seconds([&] { run(layout); }); };
  return seconds(Layout::feature_major) <= seconds(Layout::row_major) ? Layout::feature_major
                                                                      : Layout::row_major;
}

}  // namespace sparsejit::frontend
