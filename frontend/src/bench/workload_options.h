// From what the user said about layers, batches and sparsities to the list of workloads. Four ways
// to name layers: --shape and --conv (which may be combined), --mask, --suite, and none of them for
// the default suite. Errors as in options.h.
#pragma once

#include <optional>
#include <vector>

#include "bench/options.h"

namespace sparsejit::frontend {

std::vector<Workload> parse_workloads(const BenchTexts& texts, std::optional<Suite> suite);

}  // namespace sparsejit::frontend
