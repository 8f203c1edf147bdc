// Operand: one tensor of a step, used in place or packed slab by slab.
#pragma once

#include <algorithm>

#include "pack.h"
#include "scratch.h"

namespace sparsejit {

class Operand {
 public:
  // `pitch`: floats from stream to stream, of the tensor or of the buffer. `gathered`: taps read
  // it, so that a packed one needs a halo.
  struct Options {
    const StreamSide& side;
    const StreamGrid& grid;
    int64_t pitch = 0;
    bool in_place = false;
    bool gathered = false;
  };

  Operand(const ConstImageView& view, const Options& options, ScratchPool& scratch)
      : view_(view),
        side_(options.side),
        grid_(options.grid),
        pitch_(options.pitch),
        front_(options.gathered ? halo_floats(options.grid) : 0),
        halo_rows_(options.gathered ? options.grid.halo_rows : 0) {
    if (view.empty() || options.in_place) return;
    const auto planes = static_cast<int64_t>(options.side.planes.size());
    buffer_ = scratch.take(view.channels * planes * pitch_ + kPackSlack);
  }

  // Floats of a packed stream for slabs of up to `longest` floats.
  static int64_t packed_floats(const StreamGrid& grid, int64_t longest, bool gathered) {
    return longest + (gathered ? 2 * halo_floats(grid) : 0) + kPackSlack;
  }

  bool packed() const { return buffer_.data() != nullptr; }
  const ConstImageView& view() const { return view_; }
  int64_t pitch() const { return pitch_; }

  // Position `start` of the slab in stream 0.
  const float* at(const Slab& slab, int64_t start) const {
    if (packed()) return buffer_.data() + front_ + start;
    if (view_.empty()) return nullptr;
    return view_.data + slab.first_image * view_.image_stride + slab.first_row * grid_.row_pitch +
           start;
  }

  PackGeometry geometry(const Slab& slab) const { return {side_, grid_, slab}; }
  PackedSlab packed_slab(const Slab& slab) const {
    return {buffer_.data() + front_, pitch_, front_, slab.length + front_, halo_rows_};
  }

 private:
  // Whole cache lines, so that the first pixel is aligned.
  static int64_t halo_floats(const StreamGrid& grid) {
    const int64_t reach = grid.halo_rows * grid.row_pitch + grid.halo_columns;
    return (reach + 15) / 16 * 16;
  }

  ConstImageView view_;
  const StreamSide& side_;
  const StreamGrid& grid_;
  int64_t pitch_;
  int64_t front_;
  int64_t halo_rows_;
  ScratchPool::Buffer buffer_;
};

}  // namespace sparsejit
