// Runs: which input pixels a position of the kernel multiplies for which output pixels, by the
// plainest reasoning there is; the reference stands on it. Padding yields no run.
//
//     3 pixels, kernel position 0, padding 1:     x   0 1 2
//                                                y     1 2      one run: length 2, x 0.., y 1..
#pragma once

#include <cstdint>
#include <vector>

#include "bench/workload.h"

namespace sparsejit::frontend {

// Where one position of the kernel meets the tensors: `length` adjacent output pixels of a row, and
// the input pixels they read, `step` apart. Of a linear layer there is one run, over the batch.
struct Run {
  int64_t image = 0;
  int64_t y_pixel = 0;
  int64_t x_pixel = 0;
  int64_t length = 0;
  int64_t step = 1;
};

// Of each position in the kernel, row after row.
std::vector<std::vector<Run>> list_all_runs(const Workload& workload);

}  // namespace sparsejit::frontend
