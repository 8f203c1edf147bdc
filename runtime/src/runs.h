// Runs: the pixels of one plane and slab as (image, row) runs that are contiguous in the stream.
//
//     3x3 image, row_pitch 4           stream   a b c 0 d e f 0 g h i 0      three runs of 3
//     1x1 convolution, row_pitch 3     stream   a b c d e f g h i            one run of 9
//
// Neighbouring runs are joined where both sides allow it, so images without gaps are one run, and
// so is the batch of a linear layer. Pure.
#pragma once

#include <cstdint>

#include "slabs.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit {

struct RunAxis {
  int64_t count = 1;
  int64_t view_step = 0;    // floats in the view
  int64_t stream_step = 0;  // floats in the stream
};

struct Runs {
  RunAxis images;
  RunAxis rows;
  RunAxis pixels;            // within a run; stream_step is 1
  int64_t view_begin = 0;    // offset of the first pixel of channel 0 in the view
  int64_t stream_begin = 0;  // its position in the stream
  bool empty() const { return images.count == 0 || rows.count == 0 || pixels.count == 0; }
};

// Rows of the slab and `halo_rows` more on both sides, as far as the plane has them.
template <typename T>
Runs find_runs(const BasicImageView<T>& view, const StreamSide& side, const StreamPlane& plane,
               const StreamGrid& grid, const Slab& slab, int64_t halo_rows);

}  // namespace sparsejit
