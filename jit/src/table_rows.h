// Which rows the table of a chunk lists, and in which order: by their number of taps, so that loops
// over taps take as many rounds as the row before did, which processors predict.
#pragma once

#include <array>
#include <vector>

#include "sparsejit/plan.h"
#include "stencil.h"

namespace sparsejit {

struct TableRow {
  int64_t row = 0;
  TapRange taps;

  int64_t count() const { return taps.end - taps.begin; }
};

// Those of the chunk that are not skipped. `all`: rows without taps are listed where the block
// starts or ends their sums.
std::vector<TableRow> sorted_table_rows(const TapTable& table, const Plan& plan, const Chunk& chunk,
                                        bool all);

inline constexpr int kMaxTableRows = 2;
using TableGroup = std::array<TableRow, kMaxTableRows>;  // with ascending taps

// Rows side by side, `size` a group. Where one is missing, the first group has the first row twice:
// both compute the same bits.
std::vector<TableGroup> group_table_rows(const std::vector<TableRow>& rows, int size);

// Words of tables, from positions in the tap table.
class TableWords {
 public:
  TableWords(const TapTable& table, const Plan& plan) : table_(table), plan_(plan) {}

  void begin_chunk(const Chunk& chunk) {
    value_base_ = chunk.value_base;
    first_stream_ = plan_.family == KernelFamily::strip ? chunk.block * plan_.block_streams : 0;
    data_.clear();
  }
  ChunkData& data() { return data_; }

  void word(int64_t word) { data_.add(word); }
  // The same offset as value() and own(), without a note.
  int64_t value_offset(int64_t tap) const;
  int64_t own_offset(int64_t row) const;
  void long_word(int64_t word);  // 64 bits
  void bias(int64_t row);
  void own(int64_t row);
  // From the own stream of the row `before` to that of this one.
  void own_step(int64_t row, int64_t before);
  void gathered(int64_t row, int64_t tap);
  // `ahead` floats before the value.
  void value(int64_t row, int64_t tap, int64_t ahead = 0);
  void d_value(int64_t row, int64_t tap);

 private:
  void add(int64_t offset, NoteKind kind, int64_t row, int64_t tap);

  const TapTable& table_;
  const Plan& plan_;
  int64_t value_base_ = 0;
  int64_t first_stream_ = 0;  // strip family: of the block, whose streams alone are packed
  ChunkData data_;
};

}  // namespace sparsejit
