// Copies of short runs of floats with AVX2, for packing. For files compiled with AVX2 only.
//
// "spill": the last vector of a run is stored whole, so up to seven zeros follow the run.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace sparsejit {

inline constexpr int64_t kLanes = 8;

// Lanes 0 to count-1 set, count 0 to 8.
inline __m256i lane_mask(int64_t count) {
  alignas(64) static constexpr std::array<int32_t, 16> kMasks{-1, -1, -1, -1, -1, -1, -1, -1,
                                                              0,  0,  0,  0,  0,  0,  0,  0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&kMasks[8 - count]));
}

inline int64_t round_up_lanes(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

inline void copy_spill(const float* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
  if (i < count) _mm256_storeu_ps(to + i, _mm256_maskload_ps(from + i, lane_mask(count - i)));
}

// The first `count` (0 to 8) lanes, in pieces: masked stores take tens of cycles on AMD.
inline void store_lanes(float* to, __m256 lanes, int64_t count) {
  if (count == kLanes) {
    _mm256_storeu_ps(to, lanes);
    return;
  }
  __m128 half = _mm256_castps256_ps128(lanes);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, half);
    half = _mm256_extractf128_ps(lanes, 1);
    to += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), half);
    half = _mm_movehl_ps(half, half);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(to, half);
}

// Exactly `count` floats, by overlapping accesses.
inline void copy_exact(const float* from, float* to, int64_t count) {
  if (count >= kLanes) {
    for (int64_t i = 0; i + kLanes < count; i += kLanes) {
      _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
    }
    _mm256_storeu_ps(to + count - kLanes, _mm256_loadu_ps(from + count - kLanes));
  } else if (count >= 4) {
    const __m128 low = _mm_loadu_ps(from);
    const __m128 high = _mm_loadu_ps(from + count - 4);
    _mm_storeu_ps(to, low);
    _mm_storeu_ps(to + count - 4, high);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

inline void fill_zeros(float* to, int64_t count) {
  if (count > 0) std::fill_n(to, count, 0.0F);
}

// Every second float: to[i] = from[2 * i]. Spills.
inline void copy_even_spill(const float* from, float* to, int64_t count) {
  const auto even = [](__m256 low, __m256 high) {
    const __m256 mixed = _mm256_shuffle_ps(low, high, 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
  };
  int64_t i = 0;
  // The last pair reads one float less than two vectors hold.
  for (; i + kLanes < count; i += kLanes) {
    _mm256_storeu_ps(to + i,
                     even(_mm256_loadu_ps(from + 2 * i), _mm256_loadu_ps(from + 2 * i + 8)));
  }
  const int64_t floats = 2 * (count - i) - 1;
  if (floats <= 0) return;
  const __m256 low = _mm256_maskload_ps(from + 2 * i, lane_mask(std::min(floats, kLanes)));
  __m256 high = _mm256_setzero_ps();
  if (floats > kLanes) {
    high = _mm256_maskload_ps(from + 2 * i + kLanes, lane_mask(floats - kLanes));
  }
  __m256 result = even(low, high);
  // Of an odd number of lanes the mask has let one foreign float in.
  result = _mm256_and_ps(result, _mm256_castsi256_ps(lane_mask(count - i)));
  _mm256_storeu_ps(to + i, result);
}

// to[2 * i] = even[i], to[2 * i + 1] = odd[i] for i < count; a null source is zeros. Exactly.
inline void interleave_exact(const float* even, const float* odd, float* to, int64_t count) {
  const auto load = [](const float* from, int64_t at, int64_t lanes) {
    if (from == nullptr) return _mm256_setzero_ps();
    return lanes == kLanes ? _mm256_loadu_ps(from + at)
                           : _mm256_maskload_ps(from + at, lane_mask(lanes));
  };
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t left = std::min(kLanes, count - i);
    const __m256 a = load(even, i, left);
    const __m256 b = load(odd, i, left);
    const __m256 low = _mm256_unpacklo_ps(a, b);
    const __m256 high = _mm256_unpackhi_ps(a, b);
    store_lanes(to + 2 * i, _mm256_permute2f128_ps(low, high, 0x20), std::min(2 * left, kLanes));
    store_lanes(to + 2 * i + kLanes, _mm256_permute2f128_ps(low, high, 0x31),
                std::max<int64_t>(0, 2 * left - kLanes));
  }
}

// The rows of an 8x8 matrix become its columns.
inline void transpose_8x8(std::array<__m256, 8>& row) {
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
    row[i] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
    row[i + 4] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
  }
}

// to[c * to_pitch + r] = from[r * from_pitch + c] for r < rows, c < columns, both at most 8. Spills
// into to[c * to_pitch + rows ... 7] with zeros.
inline void transpose_spill(const float* from, int64_t from_pitch, int64_t rows, int64_t columns,
                            float* to, int64_t to_pitch) {
  std::array<__m256, 8> block;
  const __m256i mask = lane_mask(columns);
  for (int64_t r = 0; r < 8; ++r) {
    block[r] = r >= rows      ? _mm256_setzero_ps()
               : columns == 8 ? _mm256_loadu_ps(from + r * from_pitch)
                              : _mm256_maskload_ps(from + r * from_pitch, mask);
  }
  transpose_8x8(block);
  for (int64_t c = 0; c < columns; ++c) _mm256_storeu_ps(to + c * to_pitch, block[c]);
}

// to[c * to_pitch + r] = from[r * from_pitch + c] for r < rows, c < columns, both at most 8. Reads
// whole vectors from each of the `rows` rows, writes exactly.
inline void transpose_exact(const float* from, int64_t from_pitch, int64_t rows, int64_t columns,
                            float* to, int64_t to_pitch) {
  std::array<__m256, 8> block;
  for (int64_t r = 0; r < 8; ++r) {
    block[r] = r < rows ? _mm256_loadu_ps(from + r * from_pitch) : _mm256_setzero_ps();
  }
  transpose_8x8(block);
  for (int64_t c = 0; c < columns; ++c) store_lanes(to + c * to_pitch, block[c], rows);
}

}  // namespace sparsejit
