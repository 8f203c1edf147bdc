// Sums over the layers of a network: occurrences * median, for each engine.
//
// "picked" is what a user who leaves the choice to the library gets: of every layer and pass the
// engine that the automatic picker took. An engine that could not run some layer has no sum.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/results.h"

namespace sparsejit::frontend {

struct NetworkTotal {
  int threads = 1;
  CacheState state = CacheState::hot;
  bool inner_only = false;              // 3x3 and 1x1 convolutions only
  std::optional<BenchEngine> engine{};  // empty: picked
  std::optional<double> forward_ms{};
  std::optional<double> backward_ms{};
  std::optional<double> total_ms{};
};

// Engines without any sum are left out, and the inner layers of a network without convolutions.
std::vector<NetworkTotal> network_totals(std::span<const WorkloadResults> groups);

std::string engine_text(const NetworkTotal& total);

}  // namespace sparsejit::frontend
