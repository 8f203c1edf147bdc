#include "slabs.h"

#include <algorithm>
#include <numeric>

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;
// Packed images longer than this many targets are cut into bands, which repeat the rows that taps
// of two bands read: few bands, but small enough to stay near.
constexpr int64_t kBandTargets = 4;

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// The least number of pieces of `floats` floats that is whole vectors.
int64_t vector_quantum(int64_t floats) { return kLanes / std::gcd(kLanes, floats); }

// Where piece `index` of `pieces` begins: nearly equal pieces, all but the last one multiples of
// `quantum`.
int64_t piece_begin(int64_t count, int64_t index, int64_t pieces, int64_t quantum) {
  if (index == pieces) return count;
  return count / quantum * index / pieces * quantum;
}

}  // namespace

Slabs::Slabs(const SlabRequest& request)
    : grid_(request.grid), images_(request.images), padded_(!request.any_in_place) {
  if (request.any_in_place || grid_.image_pitch() == 1) {
    image_quantum_ = vector_quantum(grid_.image_pitch());
    row_quantum_ = vector_quantum(grid_.row_pitch);
  }
  if (!request.in_place_merged) {
    image_quantum_ = 1;
  } else if (request.all_in_place) {
    images_per_slab_ = images_;
  } else {
    const int64_t wanted = request.target / grid_.image_pitch();
    images_per_slab_ = std::max(image_quantum_, wanted / image_quantum_ * image_quantum_);
  }
  images_per_slab_ = std::clamp<int64_t>(images_per_slab_, 1, std::max<int64_t>(1, images_));
  groups_ =
      std::max<int64_t>(1, divide_up(images_ / image_quantum_ * image_quantum_, images_per_slab_));
  const int64_t most = request.target * kBandTargets;
  if (images_per_slab_ == 1 && !request.all_in_place && grid_.image_pitch() > most) {
    const int64_t pieces = divide_up(grid_.image_pitch(), most);
    bands_ = std::clamp<int64_t>(pieces, 1, std::max<int64_t>(1, grid_.used_rows / row_quantum_));
  }
}

Slab Slabs::at(int64_t index) const {
  Slab slab;
  const int64_t group = index / bands_;
  slab.first_image = piece_begin(images_, group, groups_, image_quantum_);
  slab.images = piece_begin(images_, group + 1, groups_, image_quantum_) - slab.first_image;
  const int64_t band = index % bands_;
  slab.first_row = piece_begin(grid_.used_rows, band, bands_, row_quantum_);
  slab.rows = piece_begin(grid_.used_rows, band + 1, bands_, row_quantum_) - slab.first_row;
  // A band ends where the next one begins, after the gap of its last row.
  slab.length =
      band + 1 == bands_ ? grid_.length(slab.images, slab.rows) : slab.rows * grid_.row_pitch;
  if (padded_) slab.length = divide_up(slab.length, kLanes) * kLanes;
  return slab;
}

int64_t Slabs::longest() const {
  int64_t longest = 0;
  for (int64_t i = 0; i < count(); ++i) longest = std::max(longest, at(i).length);
  return longest;
}

int64_t Slabs::planned_length() const {
  const int64_t length = longest();
  const int64_t tail = at(count() - 1).length % kLanes;
  return length / kLanes * kLanes - (tail != 0 && length % kLanes == 0 ? kLanes : 0) + tail;
}

int64_t Slabs::total() const {
  int64_t total = 0;
  for (int64_t i = 0; i < count(); ++i) total += at(i).length;
  return total;
}

}  // namespace sparsejit
