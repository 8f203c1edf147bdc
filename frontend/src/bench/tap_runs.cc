// Borders, one axis at a time; see tap_runs.h.
#include "bench/tap_runs.h"

namespace sparsejit::frontend {
namespace {

// Outputs o of an axis whose input o * stride + offset exists: [begin, end).
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
};

Interval outputs_inside(int64_t input, int64_t output, int64_t stride, int64_t offset) {
  Interval inside{0, output};
  while (inside.begin < output && inside.begin * stride + offset < 0) ++inside.begin;
  while (inside.end > inside.begin && (inside.end - 1) * stride + offset >= input) --inside.end;
  return inside;
}

std::vector<Run> list_runs(const Workload& workload, int64_t kernel_row, int64_t kernel_column) {
  const Extents sizes = extents(workload);
  const Conv2d conv = workload.conv ? workload.conv->conv : Conv2d{};
  const int64_t row_offset = kernel_row * conv.dilation.h - conv.padding.top;
  const int64_t column_offset = kernel_column * conv.dilation.w - conv.padding.left;
  const Interval rows =
      outputs_inside(sizes.input.height, sizes.output.height, conv.stride.h, row_offset);
  const Interval columns =
      outputs_inside(sizes.input.width, sizes.output.width, conv.stride.w, column_offset);
  std::vector<Run> runs;
  for (int64_t image = 0; image < sizes.images && columns.begin < columns.end; ++image) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      runs.push_back({image, row * sizes.output.width + columns.begin,
                      (row * conv.stride.h + row_offset) * sizes.input.width +
                          columns.begin * conv.stride.w + column_offset,
                      columns.end - columns.begin, conv.stride.w});
    }
  }
  return runs;
}

}  // namespace

std::vector<std::vector<Run>> list_all_runs(const Workload& workload) {
  const MaskShape shape = weight_shape(workload);
  std::vector<std::vector<Run>> runs;
  for (int64_t row = 0; row < shape.kernel_h; ++row) {
    for (int64_t column = 0; column < shape.kernel_w; ++column) {
      runs.push_back(list_runs(workload, row, column));
    }
  }
  return runs;
}

}  // namespace sparsejit::frontend
