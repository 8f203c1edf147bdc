// MaskBuilder: the one way to make a Mask. Validates a CSR pattern, then freezes it with its hash.
#pragma once

#include <cstdint>
#include <vector>

#include "sparsejit/mask.h"

namespace sparsejit {

// Throws Error when a dimension is negative or beyond 2^31-1, or when rows*cols overflows 64 bits.
void validate_shape(MaskShape shape);

class MaskBuilder {
 public:
  explicit MaskBuilder(MaskShape shape);
  // Columns of one row must be appended in strictly increasing order.
  void add(int64_t column) { columns_.push_back(static_cast<int32_t>(column)); }
  void end_row() { row_begin_.push_back(static_cast<int64_t>(columns_.size())); }
  Mask finish();

 private:
  MaskShape shape_;
  std::vector<int64_t> row_begin_{0};
  std::vector<int32_t> columns_;
};

}  // namespace sparsejit
