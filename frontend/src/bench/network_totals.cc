// Weighted sums; see network_totals.h.
#include "bench/network_totals.h"

#include <set>

#include "bench/suite.h"

namespace sparsejit::frontend {
namespace {

// Of the layers that `total` is over.
std::optional<double> weighted_ms(std::span<const WorkloadResults> groups,
                                  const NetworkTotal& total, TimedPass pass) {
  double sum = 0;
  for (const WorkloadResults& group : groups) {
    const bool counts = !total.inner_only || is_inner_convolution(group.workload);
    if (group.threads != total.threads || !counts) continue;
    const std::optional<double> ms = find_median(group, pass, total.engine, total.state);
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
