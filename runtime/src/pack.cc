// Packing; see pack.h. Read pack first, then copy_runs.
#include "pack.h"

#include <immintrin.h>

#include <vector>

#include "lane_sums.h"
#include "vector_copy.h"

namespace sparsejit {
namespace {

// Two 8x8 blocks side by side read whole cache lines of a channels-last tensor.
constexpr int64_t kChannelBlock = 16;

// Rows whose lines are prefetched while others are transposed: each lies on a page of its own.
// Measured on Zen 5, 768 -> 3072, batch 902, row-major, backward at 99%: 4.5 ms, with it 4.06;
// writing back, wider blocks: no change.
constexpr int64_t kRowsAhead = 16;

// One run of one channel into a stream. Returns how many floats it has written.
int64_t pack_run(const float* from, int64_t step, float* to, int64_t count) {
  if (step == 1) {
    copy_spill(from, to, count);
    return round_up_lanes(count);
  }
  if (step == 2) {
    copy_even_spill(from, to, count);
    return round_up_lanes(count);
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  return count;
}

// Streams that are packed together: the same plane of neighbouring channels.
struct StreamBlock {
  float* data;
  int64_t pitch;
  int64_t channels;
};

// One run of several channels whose elements are adjacent in the view.
int64_t pack_run(const float* from, int64_t step, const StreamBlock& to, int64_t at,
                 int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    for (int64_t r = i + kRowsAhead; r < std::min(count, i + kRowsAhead + kLanes); ++r) {
      _mm_prefetch(reinterpret_cast<const char*>(from + r * step), _MM_HINT_T0);
    }
    for (int64_t c = 0; c < to.channels; c += kLanes) {
      transpose_spill(from + i * step + c, step, std::min(kLanes, count - i),
                      std::min(kLanes, to.channels - c), to.data + c * to.pitch + at + i, to.pitch);
    }
  }
  return round_up_lanes(count);
}

void zero_range(const StreamBlock& to, int64_t from, int64_t end) {
  for (int64_t c = 0; c < to.channels; ++c) fill_zeros(to.data + c * to.pitch + from, end - from);
}

// Rows that fit a vector, the common case of small images: one load and one store a row.
void pack_short_rows(const float* from, const Runs& runs, float* to) {
  const __m256i mask = lane_mask(runs.pixels.count);
  for (int64_t row = 0; row < runs.rows.count; ++row) {
    _mm256_storeu_ps(to, _mm256_maskload_ps(from, mask));
    from += runs.rows.view_step;
    to += runs.rows.stream_step;
  }
}

// The rows of one image that begins at `at`, with zeros between them. Returns where it has written
// to.
int64_t pack_image(const float* from, const Runs& runs, bool channels_adjacent,
                   const StreamBlock& to, int64_t at) {
  const RunAxis& pixels = runs.pixels;
  if (!channels_adjacent && pixels.view_step == 1 && pixels.count <= kLanes &&
      (runs.rows.count == 1 || runs.rows.stream_step <= kLanes)) {
    pack_short_rows(from, runs, to.data + at);
    return at + (runs.rows.count - 1) * runs.rows.stream_step + kLanes;
  }
  for (int64_t row = 0;; ++row) {
    const int64_t written = channels_adjacent
                                ? pack_run(from, pixels.view_step, to, at, pixels.count)
                                : pack_run(from, pixels.view_step, to.data + at, pixels.count);
    if (row + 1 == runs.rows.count) return at + written;
    zero_range(to, at + written, at + runs.rows.stream_step);
    from += runs.rows.view_step;
    at += runs.rows.stream_step;
  }
}

// All images of a block in order, and zeros before, between and after them.
void pack_runs(const float* from, const Runs& runs, bool channels_adjacent, const StreamBlock& to,
               int64_t begin, int64_t end) {
  int64_t at = begin;
  if (!runs.empty()) {
    for (int64_t image = 0; image < runs.images.count; ++image) {
      const int64_t first = runs.stream_begin + image * runs.images.stream_step;
      zero_range(to, at, first);
      at = pack_image(from + runs.view_begin + image * runs.images.view_step, runs,
                      channels_adjacent, to, first);
    }
  }
  zero_range(to, at, end);
}

void unpack_run(const StreamBlock& from, int64_t at, float* to, int64_t step,
                bool channels_adjacent, int64_t count) {
  if (channels_adjacent) {
    for (int64_t i = 0; i < count; i += kLanes) {
      for (int64_t c = 0; c < from.channels; c += kLanes) {
        transpose_exact(from.data + c * from.pitch + at + i, from.pitch,
                        std::min(kLanes, from.channels - c), std::min(kLanes, count - i),
                        to + i * step + c, step);
      }
    }
  } else if (step == 1) {
    copy_exact(from.data + at, to, count);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * step] = from.data[at + i];
  }
}

// Rows without gaps in the view: vectors may write into the rows behind, which follow. Only the
// last rows are written exactly.
void unpack_adjacent_rows(const float* from, const Runs& runs, float* to) {
  const int64_t count = runs.pixels.count;
  int64_t left = runs.rows.count * count;
  for (; left >= count + kLanes; left -= count) {
    for (int64_t i = 0; i < count; i += kLanes) {
      _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
    }
    from += runs.rows.stream_step;
    to += count;
  }
  for (; left > 0; left -= count) {
    copy_exact(from, to, count);
    from += runs.rows.stream_step;
    to += count;
  }
}

void unpack_runs(const StreamBlock& from, const Runs& runs, float* to, bool channels_adjacent) {
  const bool adjacent_rows =
      !channels_adjacent && runs.pixels.view_step == 1 && runs.rows.view_step == runs.pixels.count;
  for (int64_t image = 0; image < runs.images.count; ++image) {
    const int64_t at = runs.stream_begin + image * runs.images.stream_step;
    float* image_to = to + runs.view_begin + image * runs.images.view_step;
    if (adjacent_rows) {
      unpack_adjacent_rows(from.data + at, runs, image_to);
      continue;
    }
    for (int64_t row = 0; row < runs.rows.count; ++row) {
      unpack_run(from, at + row * runs.rows.stream_step, image_to + row * runs.rows.view_step,
                 runs.pixels.view_step, channels_adjacent, runs.pixels.count);
    }
  }
}

template <typename T>
bool are_channels_adjacent(const BasicImageView<T>& view, int64_t step) {
  return view.channel_stride == 1 && view.channels > 1 && step != 1;
}

// Calls call(first channel, channels) for blocks that are packed together.
template <typename Call>
void for_each_block(int64_t first, int64_t last, bool channels_adjacent, const Call& call) {
  const int64_t size = channels_adjacent ? kChannelBlock : 1;
  for (int64_t channel = first; channel < last; channel += size) {
    call(channel, std::min(size, last - channel));
  }
}

StreamBlock block_of(const PackedSlab& packed, const StreamSide& side, int64_t channel,
                     size_t plane, int64_t channels) {
  const auto planes = static_cast<int64_t>(side.planes.size());
  const int64_t stream = channel * planes + static_cast<int64_t>(plane);
  return {packed.data + stream * packed.pitch, planes * packed.pitch, channels};
}

// Puts the planes of a strided tensor together again, row by row of the view.
class StridedUnpacker {
 public:
  StridedUnpacker(const PackedSlab& packed, const PackGeometry& geometry, const ImageView& view,
                  int64_t channel, int64_t channels)
      : packed_(packed), geometry_(geometry), view_(view), channel_(channel), channels_(channels) {}

  void run() const {
    const Slab& slab = geometry_.slab;
    const PerAxis stride = geometry_.side.stride;
    // The last slab of an image also has the rows that no output reads.
    const bool last = slab.first_row + slab.rows == geometry_.grid.used_rows;
    const int64_t end = last ? view_.height : (slab.first_row + slab.rows) * stride.h;
    for (int64_t image = 0; image < slab.images; ++image) {
      for (int64_t y = slab.first_row * stride.h; y < std::min(end, view_.height); ++y) {
        unpack_row(image, y);
      }
    }
  }

 private:
  struct Piece {
    const float* data = nullptr;  // of the block's first channel; null: zeros
    int64_t count = 0;            // pixels
  };

  void unpack_row(int64_t image, int64_t y) const {
    const PerAxis stride = geometry_.side.stride;
    float* to = view_.data + channel_ * view_.channel_stride +
                (geometry_.slab.first_image + image) * view_.image_stride + y * view_.row_stride;
    if (stride.w == 2 && channels_ == 1 && view_.pixel_stride == 1) {
      unpack_pairs(piece_of(image, y, 0), piece_of(image, y, 1), to);
      return;
    }
    for (int64_t phase = 0; phase < std::min(stride.w, view_.width); ++phase) {
      const Piece piece = piece_of(image, y, phase);
      const int64_t count = (view_.width - phase + stride.w - 1) / stride.w;
      store(piece, to + phase * view_.pixel_stride, stride.w * view_.pixel_stride, count);
    }
  }

  Piece piece_of(int64_t image, int64_t y, int64_t column_phase) const {
    const StreamSide& side = geometry_.side;
    const int64_t row = y / side.stride.h;
    for (size_t p = 0; p < side.planes.size(); ++p) {
      const StreamPlane& plane = side.planes[p];
      if (plane.row_phase != y % side.stride.h || plane.column_phase != column_phase) continue;
      if (row >= plane.rows) return {};
      const StreamBlock block = block_of(packed_, side, channel_, p, channels_);
      return {block.data + image * geometry_.grid.image_pitch() +
                  (row - geometry_.slab.first_row) * geometry_.grid.row_pitch,
              plane.columns};
    }
    return {};
  }

  void unpack_pairs(const Piece& even, const Piece& odd, float* to) const {
    const int64_t even_count = even.data == nullptr ? view_.width : even.count;
    const int64_t odd_count = odd.data == nullptr ? view_.width : odd.count;
    const int64_t pairs = std::min({even_count, odd_count, view_.width / 2});
    interleave_exact(even.data, odd.data, to, pairs);
    for (int64_t x = 2 * pairs; x < view_.width; ++x) {
      const Piece& piece = x % 2 == 0 ? even : odd;
      to[x] = piece.data != nullptr && x / 2 < piece.count ? piece.data[x / 2] : 0.0F;
    }
  }

  // `count` pixels, zeros behind those of the piece.
  void store(const Piece& piece, float* to, int64_t step, int64_t count) const {
    const int64_t planes = static_cast<int64_t>(geometry_.side.planes.size());
    const int64_t copied = piece.data == nullptr ? 0 : std::min(count, piece.count);
    if (copied > 0) {
      const StreamBlock block{const_cast<float*>(piece.data), planes * packed_.pitch, channels_};
      unpack_run(block, 0, to, step, channels_ > 1, copied);
    }
    for (int64_t i = copied; i < count; ++i) {
      for (int64_t c = 0; c < channels_; ++c) to[i * step + c * view_.channel_stride] = 0.0F;
    }
  }

  const PackedSlab& packed_;
  const PackGeometry& geometry_;
  const ImageView& view_;
  int64_t channel_;
  int64_t channels_;
};

}  // namespace

void pack(const ConstImageView& view, const PackGeometry& geometry, const PackedSlab& packed,
          int64_t first, int64_t last) {
  const StreamSide& side = geometry.side;
  std::vector<Runs> planes;
  for (const StreamPlane& plane : side.planes) {
    planes.push_back(find_runs(view, side, plane, geometry.grid, geometry.slab, packed.halo_rows));
  }
  const bool adjacent = are_channels_adjacent(view, planes[0].pixels.view_step);
  // All planes of a channel in turn: they read the same rows.
  for_each_block(first, last, adjacent, [&](int64_t channel, int64_t channels) {
    for (size_t p = 0; p < planes.size(); ++p) {
      pack_runs(view.data + channel * view.channel_stride, planes[p], adjacent,
                block_of(packed, side, channel, p, channels), -packed.front, packed.length);
    }
  });
}

void unpack(const PackedSlab& packed, const PackGeometry& geometry, const ImageView& view,
            int64_t first, int64_t last) {
  const StreamSide& side = geometry.side;
  if (side.stride == PerAxis(1)) {
    const Runs runs = find_runs(view, side, side.planes[0], geometry.grid, geometry.slab, 0);
    const bool adjacent = are_channels_adjacent(view, runs.pixels.view_step);
    for_each_block(first, last, adjacent, [&](int64_t channel, int64_t channels) {
      unpack_runs(block_of(packed, side, channel, 0, channels), runs,
                  view.data + channel * view.channel_stride, adjacent);
    });
    return;
  }
  for_each_block(first, last, are_channels_adjacent(view, view.pixel_stride),
                 [&](int64_t channel, int64_t channels) {
                   StridedUnpacker(packed, geometry, view, channel, channels).run();
                 });
}

void gate_gradient(const PackedSlab& gradient, const PackedSlab& output, int64_t first,
                   int64_t last) {
  const int64_t floats = gradient.front + gradient.length;
  for (int64_t stream = first; stream < last; ++stream) {
    float* to = gradient.data - gradient.front + stream * gradient.pitch;
    const float* from = output.data - output.front + stream * output.pitch;
    for (int64_t i = 0; i < floats; i += kLanes) {
      // Not "less or equal": a NaN lets the gradient pass.
      const __m256 passes =
          _mm256_cmp_ps(_mm256_loadu_ps(from + i), _mm256_setzero_ps(), _CMP_NLE_UQ);
      _mm256_storeu_ps(to + i, _mm256_and_ps(_mm256_loadu_ps(to + i), passes));
    }
  }
}

void sum_streams(const float* data, int64_t pitch, int64_t length, int64_t first, int64_t last,
                 bool accumulate, float* sums) {
  for (int64_t f = first; f < last; ++f) {
    const float* stream = data + f * pitch;
    __m256 even = _mm256_setzero_ps();
    __m256 odd = _mm256_setzero_ps();
    int64_t t = 0;
    for (; t + 2 * kLanes <= length; t += 2 * kLanes) {
      even = _mm256_add_ps(even, _mm256_loadu_ps(stream + t));
      odd = _mm256_add_ps(odd, _mm256_loadu_ps(stream + t + kLanes));
    }
    if (t + kLanes <= length) {
      even = _mm256_add_ps(even, _mm256_loadu_ps(stream + t));
      t += kLanes;
    }
    float sum = lane_sum(_mm256_add_ps(even, odd));
    for (; t < length; ++t) sum += stream[t];
    sums[f] = accumulate ? sums[f] + sum : sum;
  }
}

}  // namespace sparsejit
