// Weighted sums; see network_totals.h.
#include "bench/network_totals.h"

#include <algorithm>
#include <set>

#include "bench/suite.h"

namespace sparsejit::frontend {
namespace {

const BenchResult* find_picked(const WorkloadResults& group, TimedPass pass, CacheState state) {
  const auto found =
      std::find_if(group.results.begin(), group.results.end(), [&](const BenchResult& result) {
        return result.pass == pass && result.state == state && result.chosen;
      });
  return found == group.results.end() ? nullptr : &*found;
}

std::optional<double> picked_ms(const WorkloadResults& group, TimedPass pass, CacheState state) {
  if (pass == TimedPass::total) {
    const std::optional<double> forward = picked_ms(group, TimedPass::forward, state);
    const std::optional<double> backward = picked_ms(group, TimedPass::backward, state);
    if (!forward || !backward) return std::nullopt;
    return *forward + *backward;
  }
  const BenchResult* result = find_picked(group, pass, state);
  return result == nullptr ? std::nullopt : std::optional(result->median_ms);
}

// Of the layers that `total` is over.
std::optional<double> weighted_ms(std::span<const WorkloadResults> groups,
                                  const NetworkTotal& total, TimedPass pass) {
  double sum = 0;
  for (const WorkloadResults& group : groups) {
    const bool counts = !total.inner_only || is_inner_convolution(group.workload);
    if (group.threads != total.threads || !counts) continue;
    std::optional<double> ms;
    if (!total.engine) {
      ms = picked_ms(group, pass, total.state);
    } else if (const auto* result = find_result(group, pass, *total.engine, total.state)) {
      ms = result->median_ms;
    }
    if (!ms) return std::nullopt;
    sum += static_cast<double>(group.workload.occurrences) * *ms;
  }
  return sum;
}

void add_engines(std::span<const WorkloadResults> groups, NetworkTotal total,
                 std::vector<NetworkTotal>& totals) {
  std::vector<std::optional<BenchEngine>> engines(kAllEngines.begin(), kAllEngines.end());
  engines.insert(engines.begin() + 2, std::nullopt);  // after the two that it is picked from
  for (const std::optional<BenchEngine>& engine : engines) {
    total.engine = engine;
    total.forward_ms = weighted_ms(groups, total, TimedPass::forward);
    total.backward_ms = weighted_ms(groups, total, TimedPass::backward);
    total.total_ms = weighted_ms(groups, total, TimedPass::total);
    if (total.forward_ms || total.backward_ms || total.total_ms) totals.push_back(total);
  }
}

}  // namespace

std::vector<NetworkTotal> network_totals(std::span<const WorkloadResults> groups) {
  std::set<int> threads;
  bool has_inner = false;
  for (const WorkloadResults& group : groups) {
    threads.insert(group.threads);
    has_inner = has_inner || is_inner_convolution(group.workload);
  }
  std::vector<NetworkTotal> totals;
  for (const int count : threads) {
    for (const CacheState state : {CacheState::hot, CacheState::cold}) {
      add_engines(groups, {.threads = count, .state = state, .inner_only = false}, totals);
      if (!has_inner) continue;
      add_engines(groups, {.threads = count, .state = state, .inner_only = true}, totals);
    }
  }
  return totals;
}

std::string engine_text(const NetworkTotal& total) {
  return total.engine ? to_text(*total.engine) : "picked";
}

}  // namespace sparsejit::frontend
