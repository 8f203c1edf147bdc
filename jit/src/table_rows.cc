#include "table_rows.h"

#include <algorithm>

#include "emitters.h"

namespace sparsejit {

std::vector<TableRow> sorted_table_rows(const TapTable& table, const Plan& plan, const Chunk& chunk,
                                        bool all) {
  std::vector<TableRow> rows;
  for (int64_t row = plan.part_begin[chunk.part]; row < plan.part_begin[chunk.part + 1]; ++row) {
    const TapRange taps = block_range(table, plan, row, chunk.block);
    const bool skips = all ? skips_row(plan, taps, chunk.block) : taps.begin == taps.end;
    if (!skips) rows.push_back({row, taps});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TableRow& a, const TableRow& b) { return a.count() < b.count(); });
  return rows;
}

std::vector<TableGroup> group_table_rows(const std::vector<TableRow>& rows, int size) {
  std::vector<TableGroup> groups;
  TableGroup group;
  const int last = static_cast<int>(rows.size()) % size;
  int filled = last == 0 ? 0 : size - last;
  for (int i = 0; i < filled; ++i) group[i] = rows.front();
  for (const TableRow& row : rows) {
    group[filled++] = row;
    if (filled < size) continue;
    groups.push_back(group);
    filled = 0;
  }
  return groups;
}

void TableWords::long_word(int64_t word) {
  data_.add(static_cast<int32_t>(word & 0xFFFFFFFF));
  data_.add(static_cast<int32_t>(word >> 32));
}

int64_t TableWords::value_offset(int64_t tap) const {
  return (value_slot(table_, plan_, tap) - value_base_) * kFloatBytes;
}

int64_t TableWords::own_offset(int64_t row) const { return row * plan_.pitches.own * kFloatBytes; }

void TableWords::bias(int64_t row) { add(row * kFloatBytes, NoteKind::bias, row, -1); }

void TableWords::own(int64_t row) { add(own_offset(row), NoteKind::own, row, -1); }

void TableWords::own_step(int64_t row, int64_t before) {
  add(own_offset(row) - own_offset(before), NoteKind::own, row, -1);
}

void TableWords::gathered(int64_t row, int64_t tap) {
  const Tap& t = table_.taps[tap];
  const int64_t floats = (t.stream - first_stream_) * plan_.pitches.gathered + t.shift;
  add(floats * kFloatBytes, NoteKind::gathered, row, tap);
}

void TableWords::value(int64_t row, int64_t tap, int64_t ahead) {
  add(value_offset(tap) - ahead * kFloatBytes, NoteKind::value, row, tap);
}

void TableWords::d_value(int64_t row, int64_t tap) {
  add(value_offset(tap), NoteKind::d_value, row, tap);
}

void TableWords::add(int64_t offset, NoteKind kind, int64_t row, int64_t tap) {
  data_.add(SlotOperand{offset, kind, static_cast<int32_t>(row), tap});
}

}  // namespace sparsejit
