// The innermost loops of the paper's kernels in AVX2 intrinsics, one vector at a time as published:
// the output is loaded, updated and stored for every weight, nothing stays in a register but the
// gradient of the weight. What is left of a run after the last whole vector is scalar.
//
// Included only by sources that are compiled with -mavx2 -mfma (paper_loop.cc, paper_conv.cc);
// everything has internal linkage, so that none of it ends up in other objects.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace sparsejit::frontend {
namespace {

inline constexpr int64_t kLanes = 8;

// The gradient of one weight while its runs are added up.
struct WeightGradient {
  __m256 lanes = _mm256_setzero_ps();
  float rest = 0;

  float sum() const {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + rest;
  }
};

inline void fill_run(float* run, int64_t length, float number) {
  for (int64_t t = 0; t < length; ++t) run[t] = number;
}

inline void forward_run(float w, const float* x, float* y, int64_t length) {
  const __m256 weight = _mm256_set1_ps(w);
  int64_t t = 0;
  for (; t + kLanes <= length; t += kLanes) {
    const __m256 sum = _mm256_fmadd_ps(weight, _mm256_loadu_ps(x + t), _mm256_loadu_ps(y + t));
    _mm256_storeu_ps(y + t, sum);
  }
  for (; t < length; ++t) y[t] += w * x[t];
}

inline void backward_run(float w, const float* x, const float* dy, float* dx, int64_t length,
                         WeightGradient& gradient) {
  const __m256 weight = _mm256_set1_ps(w);
  int64_t t = 0;
  for (; t + kLanes <= length; t += kLanes) {
    const __m256 of_y = _mm256_loadu_ps(dy + t);
    _mm256_storeu_ps(dx + t, _mm256_fmadd_ps(weight, of_y, _mm256_loadu_ps(dx + t)));
    gradient.lanes = _mm256_fmadd_ps(_mm256_loadu_ps(x + t), of_y, gradient.lanes);
  }
  for (; t < length; ++t) {
    dx[t] += w * dy[t];
    gradient.rest += x[t] * dy[t];
  }
}

// Without the gradient of the input.
inline void backward_weight_run(const float* x, const float* dy, int64_t length,
                                WeightGradient& gradient) {
  int64_t t = 0;
  for (; t + kLanes <= length; t += kLanes) {
    gradient.lanes =
        _mm256_fmadd_ps(_mm256_loadu_ps(x + t), _mm256_loadu_ps(dy + t), gradient.lanes);
  }
  for (; t < length; ++t) gradient.rest += x[t] * dy[t];
}

}  // namespace
}  // namespace sparsejit::frontend
