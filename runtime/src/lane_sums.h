// Horizontal sums in the one order this project uses, ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)), and
// other vector arithmetic that must agree with generated code to the bit.
// emit_lane_sums in jit/ emits the same instructions. For files compiled with AVX2 only.
#pragma once

#include <immintrin.h>

#include "tail.h"

namespace sparsejit {

// [sum(a), sum(b), sum(c), sum(d)]
inline __m128 lane_sums(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 quarter = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(quarter), _mm256_extractf128_ps(quarter, 1));
}

inline float lane_sum(__m256 a) { return _mm_cvtss_f32(lane_sums(a, a, a, a)); }

// max(0, a), where a NaN stays: the second operand wins then.
inline __m256 relu(__m256 a) { return _mm256_max_ps(_mm256_setzero_ps(), a); }

// The tail vector at `at`, zero where it overlaps the loop.
inline __m256 masked_tail(const float* at, const Tail& tail) {
  const __m256 mask = _mm256_loadu_ps(reinterpret_cast<const float*>(tail.mask));
  return _mm256_and_ps(_mm256_loadu_ps(at), mask);
}

}  // namespace sparsejit
