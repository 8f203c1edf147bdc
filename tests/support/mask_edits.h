// Masks that differ from another one in a few places.
#pragma once

#include <cstdint>
#include <vector>

#include "sparsejit/mask.h"

namespace sparsejit::test {

// A mask that differs from another one only in the last rows.
inline Mask with_other_last_rows(const Mask& mask, int64_t rows, uint64_t seed) {
  const Mask other = Mask::random(mask.shape(), mask.sparsity(), seed);
  std::vector<int64_t> row_begin = {0};
  std::vector<int64_t> columns;
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const Mask& from = row < mask.rows() - rows ? mask : other;
    for (int64_t i = from.row_begin()[row]; i < from.row_begin()[row + 1]; ++i) {
      columns.push_back(from.columns()[i]);
    }
    row_begin.push_back(std::ssize(columns));
  }
  return Mask::from_csr(row_begin, columns, mask.shape());
}

// `mask` without the first stored weight of `row`.
inline Mask without_one(const Mask& mask, int64_t row) {
  std::vector<int64_t> row_begin(mask.row_begin().begin(), mask.row_begin().end());
  std::vector<int64_t> columns(mask.columns().begin(), mask.columns().end());
  columns.erase(columns.begin() + row_begin[row]);
  for (int64_t r = row + 1; r <= mask.rows(); ++r) --row_begin[r];
  return Mask::from_csr(row_begin, columns, mask.shape());
}

}  // namespace sparsejit::test
