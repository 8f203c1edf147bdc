// Taps of several interleaved rows, ordered by what they read, so that rows share loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sparsejit/plan.h"

namespace sparsejit {

struct MergedTap {
  int32_t stream;
  int32_t shift;
  int32_t row;  // within the group
  int64_t tap;  // position in the table
};

struct RowGroup {
  int64_t first_row = 0;
  int rows = 0;
  int32_t block = 0;
};

// The taps of the group's rows in its block. Each row keeps its order, so sums do, too.
void merge_rows(const TapTable& table, const Plan& plan, const RowGroup& group,
                std::vector<MergedTap>& merged);

// The position after the taps that read the same floats as the one at `at`.
size_t same_source_end(const std::vector<MergedTap>& merged, size_t at);

}  // namespace sparsejit
