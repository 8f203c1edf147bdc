// Parts: the ranges of rows that threads share out, of about equal cost.
#pragma once

#include <cstdint>
#include <limits>

#include "sparsejit/plan.h"

namespace sparsejit {

// A row costs about as much as this many taps beside its own.
inline constexpr int64_t kRowCostInTaps = 2;

struct PartLimits {
  int64_t max_parts = 1;
  int64_t min_taps = 1;  // of a part, so that it is worth an entry
  int64_t max_rows = std::numeric_limits<int64_t>::max();  // of a part; goes before the others
};

// Fills part_begin and part_taps. With `previous`, its parts are kept while they are balanced.
void plan_parts(Plan& plan, const TapTable& table, const PartLimits& limits, const Plan* previous);

}  // namespace sparsejit
