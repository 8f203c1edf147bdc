// Arithmetic of sizes: all numbers are positive.
#pragma once

#include <cstdint>

namespace sparsejit {

// `by` may be as large as there is.
inline int64_t divide_up(int64_t value, int64_t by) {
  return value / by + (value % by == 0 ? 0 : 1);
}
inline int64_t round_down(int64_t value, int64_t step) { return value / step * step; }

}  // namespace sparsejit
