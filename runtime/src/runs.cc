#include "runs.h"

#include <algorithm>

namespace sparsejit {
namespace {

// Makes `inner` cover what both axes cover, if one axis can.
bool join(RunAxis& outer, RunAxis& inner) {
  const bool single = inner.count == 1 && outer.stream_step == inner.stream_step;
  const bool adjacent = outer.view_step == inner.count * inner.view_step &&
                        outer.stream_step == inner.count * inner.stream_step;
  if (outer.count != 1 && !single && !adjacent) return false;
  if (single) inner.view_step = outer.view_step;
  inner.count *= outer.count;
  outer.count = 1;
  return true;
}

}  // namespace

template <typename T>
Runs find_runs(const BasicImageView<T>& view, const StreamSide& side, const StreamPlane& plane,
               const StreamGrid& grid, const Slab& slab, int64_t halo_rows) {
  const int64_t first_row = std::max<int64_t>(0, slab.first_row - halo_rows);
  const int64_t last_row = std::min(plane.rows, slab.first_row + slab.rows + halo_rows);
  Runs runs;
  runs.images = {slab.images, view.image_stride, grid.image_pitch()};
  runs.rows = {std::max<int64_t>(0, last_row - first_row), side.stride.h * view.row_stride,
               grid.row_pitch};
  runs.pixels = {plane.columns, side.stride.w * view.pixel_stride, 1};
  runs.view_begin = slab.first_image * view.image_stride +
                    (first_row * side.stride.h + plane.row_phase) * view.row_stride +
                    plane.column_phase * view.pixel_stride;
  runs.stream_begin = (first_row - slab.first_row) * grid.row_pitch;
  if (runs.empty()) return runs;
  if (join(runs.rows, runs.pixels)) {
    if (join(runs.images, runs.pixels)) return runs;
  }
  return runs;
}

template Runs find_runs(const BasicImageView<float>&, const StreamSide&, const StreamPlane&,
                        const StreamGrid&, const Slab&, int64_t);
template Runs find_runs(const BasicImageView<const float>&, const StreamSide&, const StreamPlane&,
                        const StreamGrid&, const Slab&, int64_t);

}  // namespace sparsejit
