// Slabs: the pieces in which a pass walks its streams. The operands that are packed are packed one
// slab at a time, so a slab decides what lies in the cache together; it is cut further into panels.
//
//     merged     several small images end to end                images 0-3 | 4-7 | ...
//     per image  tensors used in place, or images of some size  image 0 | 1 | ...
//     bands      rows of one large image                        image 0 rows 0-15 | 16-31 | ...
//
// A linear layer is the merged case with images of one pixel. Plain data, pure.
#pragma once

#include <cstdint>

#include "sparsejit/conv2d.h"

namespace sparsejit {

struct Slab {
  int64_t first_image = 0;
  int64_t images = 0;
  int64_t first_row = 0;  // of the grid; 0 unless the slab is a band
  int64_t rows = 0;       // of each image: all of them, unless the slab is a band
  int64_t length = 0;     // floats of a stream the kernels cover
};

// How the tensors of a pass are used. Merged: consecutive images of a channel are adjacent.
struct SlabRequest {
  StreamGrid grid;
  int64_t images = 0;
  bool any_in_place = false;
  bool all_in_place = false;
  bool in_place_merged = true;  // all tensors used in place are merged
  int64_t target = 0;           // floats of a stream a packed slab should have
};

class Slabs {
 public:
  Slabs() = default;
  explicit Slabs(const SlabRequest& request);

  int64_t count() const { return groups_ * bands_; }
  // Images in turn, and the bands of each.
  Slab at(int64_t index) const;
  int64_t images_per_slab() const { return images_per_slab_; }
  // Floats of the longest slab.
  int64_t longest() const;
  // A length that has a tail if any slab has one, and is as long as the longest to a vector.
  int64_t planned_length() const;
  // Floats of all slabs together.
  int64_t total() const;

 private:
  StreamGrid grid_;
  int64_t images_ = 0;
  int64_t images_per_slab_ = 1;
  int64_t image_quantum_ = 1;  // all but the last slab have a multiple of these
  int64_t row_quantum_ = 1;
  int64_t groups_ = 0;
  int64_t bands_ = 1;
  bool padded_ = false;  // lengths are rounded up to whole vectors
};

// What tiled kernels cover of a slab: of a linear layer, the samples, without the padding to whole
// vectors, for they read the tensor itself.
inline int64_t tiled_length(const Slab& slab, const StreamGrid& grid) {
  return grid.image_pitch() == 1 ? slab.images : slab.length;
}

}  // namespace sparsejit
