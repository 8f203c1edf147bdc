#include "pack.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "lane_sums.h"

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;
// Two 8x8 blocks side by side read whole cache lines of a row-major matrix.
constexpr int64_t kFeatureBlock = 16;

// Rows of `from` (8 floats each) become columns of `to`.
void transpose_8x8(const float* from, int64_t from_pitch, float* to, int64_t to_pitch) {
  std::array<__m256, 8> row;
  for (int i = 0; i < 8; ++i) row[i] = _mm256_loadu_ps(from + i * from_pitch);
  std::array<__m256, 8> pair;
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  std::array<__m256, 8> quad;
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xEE);
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_pitch, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_pitch, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
  }
}

struct StridedBlock {
  float* data;
  int64_t row_stride;
  int64_t column_stride;
};

void copy_strided(const StridedBlock& from, const StridedBlock& to, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      to.data[r * to.row_stride + c * to.column_stride] =
          from.data[r * from.row_stride + c * from.column_stride];
    }
  }
}

// from[r * from_pitch + c] -> to[c * to_pitch + r] for r < rows, c < columns.
void transpose_block(float* from, int64_t from_pitch, float* to, int64_t to_pitch, int64_t rows,
                     int64_t columns) {
  const int64_t whole_rows = rows / kLanes * kLanes;
  const int64_t whole_columns = columns / kLanes * kLanes;
  for (int64_t c0 = 0; c0 < whole_columns; c0 += kFeatureBlock) {
    const int64_t c1 = std::min(c0 + kFeatureBlock, whole_columns);
    for (int64_t r = 0; r < whole_rows; r += kLanes) {
      for (int64_t c = c0; c < c1; c += kLanes) {
        transpose_8x8(from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch);
      }
    }
  }
  const auto copy_rest = [&](int64_t r0, int64_t c0, int64_t r1, int64_t c1) {
    copy_strided({from + r0 * from_pitch + c0, from_pitch, 1},
                 {to + c0 * to_pitch + r0, 1, to_pitch}, r1 - r0, c1 - c0);
  };
  copy_rest(0, whole_columns, whole_rows, columns);
  copy_rest(whole_rows, 0, rows, columns);
}

float* element(const TensorView& view, int64_t sample, int64_t feature) {
  return view.data + sample * view.batch_stride + feature * view.feature_stride;
}

// The view is only read; one mutable type lets pack and unpack share their helpers.
TensorView mutable_view(const ConstTensorView& view) {
  return {const_cast<float*>(view.data), view.batch, view.features, view.batch_stride,
          view.feature_stride};
}

}  // namespace

void pack(const ConstTensorView& view, const PackedPanel& panel, int64_t first, int64_t last) {
  float* from = element(mutable_view(view), panel.start, first);
  float* to = panel.data + first * panel.pitch;
  if (view.batch_stride == 1) {
    for (int64_t f = 0; f < last - first; ++f) {
      std::memcpy(to + f * panel.pitch, from + f * view.feature_stride,
                  panel.length * sizeof(float));
    }
  } else if (view.feature_stride == 1) {
    transpose_block(from, view.batch_stride, to, panel.pitch, panel.length, last - first);
  } else {
    copy_strided({from, view.feature_stride, view.batch_stride}, {to, panel.pitch, 1}, last - first,
                 panel.length);
  }
  for (int64_t f = 0; f < last - first; ++f) {
    for (int64_t t = panel.length; t < panel.padded_length; ++t) to[f * panel.pitch + t] = 0.0F;
  }
}

void unpack(const PackedPanel& panel, const TensorView& view, int64_t first, int64_t last) {
  float* from = panel.data + first * panel.pitch;
  float* to = element(view, panel.start, first);
  if (view.batch_stride == 1) {
    for (int64_t f = 0; f < last - first; ++f) {
      std::memcpy(to + f * view.feature_stride, from + f * panel.pitch,
                  panel.length * sizeof(float));
    }
  } else if (view.feature_stride == 1) {
    transpose_block(from, panel.pitch, to, view.batch_stride, last - first, panel.length);
  } else {
    copy_strided({from, panel.pitch, 1}, {to, view.feature_stride, view.batch_stride}, last - first,
                 panel.length);
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
