// Compiled for AVX2; called only where the CPU has it.
#include "strip_panel.h"

#include <algorithm>

#include "pack.h"
#include "sparsejit/strips.h"
#include "vector_copy.h"

namespace sparsejit {
namespace {

// Of a strip, and from the begin of one to that of the next.
struct Extent {
  int64_t floats;
  int64_t valid;
  int64_t pitch;
};

__m256 load_valid(const float* from, int64_t left) {
  if (left >= kLanes) return _mm256_loadu_ps(from);
  return left <= 0 ? _mm256_setzero_ps() : _mm256_maskload_ps(from, lane_mask(left));
}

// Calls call(t, position) for each vector of a strip.
template <typename Call>
void for_each_vector(int64_t floats, const Call& call) {
  const int64_t piece = floats / 2;
  for (int64_t t = 0; t < piece; t += kLanes) {
    call(t, 2 * t);
    call(piece + t, 2 * t + kLanes);
  }
}

void pack_adjacent_floats(const float* from, Extent extent, float* to) {
  if (extent.valid == extent.floats) {
    for_each_vector(extent.floats, [&](int64_t t, int64_t at) {
      _mm256_storeu_ps(to + at, _mm256_loadu_ps(from + t));
    });
    return;
  }
  for_each_vector(extent.floats, [&](int64_t t, int64_t at) {
    _mm256_storeu_ps(to + at, load_valid(from + t, extent.valid - t));
  });
}

void pack_adjacent_streams(const float* from, int64_t float_stride, int64_t streams, Extent extent,
                           float* to) {
  for (int64_t stream = 0; stream < streams; stream += kLanes) {
    const int64_t count = std::min(kLanes, streams - stream);
    for_each_vector(extent.floats, [&](int64_t t, int64_t at) {
      const int64_t floats = std::clamp<int64_t>(extent.valid - t, 0, kLanes);
      transpose_spill(from + t * float_stride + stream, float_stride, floats, count,
                      to + stream * extent.pitch + at, extent.pitch);
    });
  }
}

void gather_floats(const float* from, int64_t float_stride, Extent extent, float* to) {
  for (int64_t t = 0; t < extent.floats; ++t) {
    to[strip_position(t, extent.floats)] = t < extent.valid ? from[t * float_stride] : 0.0F;
  }
}

// Streams [first, last).
void pack_streams(const StreamSource& source, int64_t first, int64_t last, Extent extent,
                  float* to) {
  if (source.float_stride == 1) {
    source.for_each_stream(first, last, [&](const float* stream) {
      pack_adjacent_floats(stream, extent, to);
      to += extent.pitch;
    });
    return;
  }
  const float* from = source.data + first * source.stream_stride;
  if (source.stream_stride == 1) {
    pack_adjacent_streams(from, source.float_stride, last - first, extent, to);
    return;
  }
  for (int64_t i = 0; i < last - first; ++i) {
    gather_floats(from + i * source.stream_stride, source.float_stride, extent,
                  to + i * extent.pitch);
  }
}

void unpack_adjacent_streams(const float* from, int64_t streams, Extent extent, float* to,
                             int64_t float_stride) {
  for (int64_t stream = 0; stream < streams; stream += kLanes) {
    const int64_t count = std::min(kLanes, streams - stream);
    for_each_vector(extent.floats, [&](int64_t t, int64_t at) {
      const int64_t floats = std::min(extent.valid - t, kLanes);
      if (floats <= 0) return;
      transpose_exact(from + stream * extent.pitch + at, extent.pitch, count, floats,
                      to + t * float_stride + stream, float_stride);
    });
  }
}

// `streams` strips at `from` into streams from `to` on.
void unpack_streams(const float* from, int64_t streams, Extent extent, float* to,
                    const StreamTarget& strides) {
  if (strides.stream_stride == 1 && strides.float_stride != 1) {
    unpack_adjacent_streams(from, streams, extent, to, strides.float_stride);
    return;
  }
  for (int64_t i = 0; i < streams; ++i) {
    float* stream = to + i * strides.stream_stride;
    const float* strip = from + i * extent.pitch;
    if (strides.float_stride == 1) {
      for_each_vector(extent.floats, [&](int64_t t, int64_t at) {
        const int64_t floats = std::min(extent.valid - t, kLanes);
        if (floats > 0) store_lanes(stream + t, _mm256_loadu_ps(strip + at), floats);
      });
      continue;
    }
    for (int64_t t = 0; t < extent.valid; ++t) {
      stream[t * strides.float_stride] = strip[strip_position(t, extent.floats)];
    }
  }
}

}  // namespace

StripPanel::StripPanel(const PanelKernel& kernel, int64_t streams, int threads,
                       ScratchPool& scratch)
    : kernel_(kernel),
      plan_(kernel.plan()),
      streams_(streams),
      packs_ahead_(threads > 1),
      gathered_(
          scratch.take((packs_ahead_ ? plan_.blocks : 1) * plan_.block_streams * plan_.panel)),
      paired_(scratch.take(plan_.part_begin.back() * plan_.panel)),
      own_(scratch.take(has_own() ? plan_.part_begin.back() * plan_.panel : 0)) {}

float* StripPanel::block_strips(int32_t block) const {
  return gathered_.data() + (packs_ahead_ ? block * plan_.block_streams * plan_.panel : 0);
}

void StripPanel::pack_gathered(const StripOperands& operands, int64_t first, int64_t last) const {
  const int64_t begin = packs_ahead_ ? first : 0;
  float* const to = gathered_.data() + begin * plan_.panel;
  pack_streams(operands.gathered, first, last, {operands.floats, operands.valid, plan_.panel}, to);
  if (operands.stream_sums.empty()) return;
  sum_streams(to, plan_.panel, operands.floats, 0, last - first, !operands.first,
              operands.stream_sums.data() + first);
}

void StripPanel::run(const StripOperands& operands, int32_t first_part, int32_t last_part) const {
  const int64_t first = plan_.part_begin[first_part];
  const int64_t rows = plan_.part_begin[last_part] - first;
  const Extent extent{operands.floats, operands.valid, plan_.panel};
  float* const own = has_own() ? own_.data() + first * plan_.panel : nullptr;
  pack_streams(operands.paired, first, first + rows, extent, paired_.data() + first * plan_.panel);
  if (has_own()) std::fill_n(own, rows * plan_.panel, 0.0F);
  for (int32_t block = 0; block < plan_.blocks; ++block) {
    const int64_t begin = block * plan_.block_streams;
    if (!packs_ahead_) {
      pack_gathered(operands, begin, std::min(streams_, begin + plan_.block_streams));
    }
    kernel_.run({.gathered = block_strips(block),
                 .own = own_.data(),
                 .paired = paired_.data(),
                 .values = operands.values.data(),
                 .d_values = operands.d_values.data()},
                block, first_part, last_part, extent.floats);
  }
  if (!has_own()) return;
  unpack_streams(own, rows, extent, operands.own.data + first * operands.own.stream_stride,
                 operands.own);
}

}  // namespace sparsejit
