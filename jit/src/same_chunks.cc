// same_chunks: which chunks keep their code when a mask changes.
#include "sparsejit/plan.h"

namespace sparsejit {
namespace {

// What of a plan does not depend on which weights are stored.
Plan without_rows(Plan plan) {
  plan.part_begin.clear();
  plan.part_taps.clear();
  plan.chunks.clear();
  plan.code_bytes_estimate = 0;
  return plan;
}

// The taps that decide on the code of a row in a block. Tiled kernels load several values at once,
// those of other blocks too.
TapRange seen_range(const PlannedTable& planned, int64_t row, int32_t block) {
  const TapTable& table = planned.table;
  if (planned.plan.family == KernelFamily::tiled) {
    return {table.row_begin[row], table.row_begin[row + 1]};
  }
  return block_range(table, planned.plan, row, block);
}

bool same_row(const PlannedTable& before, const PlannedTable& now, int64_t row,
              const Chunk& chunk_before, const Chunk& chunk) {
  const TapRange a = seen_range(before, row, chunk.block);
  const TapRange b = seen_range(now, row, chunk.block);
  if (a.end - a.begin != b.end - b.begin) return false;
  for (int64_t i = 0; i < a.end - a.begin; ++i) {
    const Tap& tap_before = before.table.taps[a.begin + i];
    const Tap& tap = now.table.taps[b.begin + i];
    if (tap_before.stream != tap.stream || tap_before.shift != tap.shift) return false;
    if (now.plan.family == KernelFamily::strip) continue;  // values follow each other
    if (value_slot(before.table, before.plan, a.begin + i) - chunk_before.value_base !=
        value_slot(now.table, now.plan, b.begin + i) - chunk.value_base) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<bool> same_chunks(const PlannedTable& before, const PlannedTable& now) {
  std::vector<bool> same(now.plan.chunks.size(), false);
  if (without_rows(before.plan) != without_rows(now.plan)) return same;
  if (before.plan.part_begin != now.plan.part_begin) return same;
  for (size_t i = 0; i < same.size(); ++i) {
    const Chunk& chunk = now.plan.chunks[i];
    same[i] = true;
    const int64_t end = now.plan.part_begin[chunk.part + 1];
    for (int64_t row = now.plan.part_begin[chunk.part]; row < end && same[i]; ++row) {
      same[i] = same_row(before, now, row, before.plan.chunks[i], chunk);
    }
  }
  return same;
}

}  // namespace sparsejit
