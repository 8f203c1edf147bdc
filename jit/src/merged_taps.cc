#include "merged_taps.h"

#include <algorithm>
#include <tuple>

namespace sparsejit {

void merge_rows(const TapTable& table, const Plan& plan, const RowGroup& group,
                std::vector<MergedTap>& merged) {
  merged.clear();
  for (int r = 0; r < group.rows; ++r) {
    const TapRange taps = block_range(table, plan, group.first_row + r, group.block);
    for (int64_t i = taps.begin; i < taps.end; ++i) {
      merged.push_back({table.taps[i].stream, table.taps[i].shift, r, i});
    }
  }
  if (group.rows == 1) return;
  std::sort(merged.begin(), merged.end(), [](const MergedTap& a, const MergedTap& b) {
    return std::tie(a.stream, a.shift, a.row, a.tap) < std::tie(b.stream, b.shift, b.row, b.tap);
  });
}

size_t same_source_end(const std::vector<MergedTap>& merged, size_t at) {
  size_t end = at + 1;
  while (end < merged.size() && merged[end].stream == merged[at].stream &&
         merged[end].shift == merged[at].shift) {
    ++end;
  }
  return end;
}

}  // namespace sparsejit
