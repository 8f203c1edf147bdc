// The paper's loops in AVX2 intrinsics, one vector at a time as published; see paper_loop.h.
// Compiled with -mavx2 -mfma, so it must not be entered on a machine without them.
#include "bench/paper_loop.h"

#include <immintrin.h>

namespace sparsejit::frontend {
namespace {

constexpr int64_t kLanes = 8;

void fill_stream(float* stream, int64_t length, float number) {
  for (int64_t t = 0; t < length; ++t) stream[t] = number;
}

float sum_lanes(__m256 lanes) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

void forward_weight(float w, const float* x, float* y, int64_t batch) {
  const __m256 weight = _mm256_set1_ps(w);
  int64_t t = 0;
  for (; t + kLanes <= batch; t += kLanes) {
    const __m256 sum = _mm256_fmadd_ps(weight, _mm256_loadu_ps(x + t), _mm256_loadu_ps(y + t));
    _mm256_storeu_ps(y + t, sum);
  }
  for (; t < batch; ++t) y[t] += w * x[t];
}

float backward_weight(float w, const float* x, const float* dy, float* dx, int64_t batch) {
  const __m256 weight = _mm256_set1_ps(w);
  __m256 d_weight = _mm256_setzero_ps();
  int64_t t = 0;
  for (; t + kLanes <= batch; t += kLanes) {
    const __m256 gradient = _mm256_loadu_ps(dy + t);
    _mm256_storeu_ps(dx + t, _mm256_fmadd_ps(weight, gradient, _mm256_loadu_ps(dx + t)));
    d_weight = _mm256_fmadd_ps(_mm256_loadu_ps(x + t), gradient, d_weight);
  }
  float sum = sum_lanes(d_weight);
  for (; t < batch; ++t) {
    dx[t] += w * dy[t];
    sum += x[t] * dy[t];
  }
  return sum;
}

float backward_weight_only(const float* x, const float* dy, int64_t batch) {
  __m256 d_weight = _mm256_setzero_ps();
  int64_t t = 0;
  for (; t + kLanes <= batch; t += kLanes) {
    d_weight = _mm256_fmadd_ps(_mm256_loadu_ps(x + t), _mm256_loadu_ps(dy + t), d_weight);
  }
  float sum = sum_lanes(d_weight);
  for (; t < batch; ++t) sum += x[t] * dy[t];
  return sum;
}

}  // namespace

void paper_forward(const PaperLayer& layer, const float* x, const float* bias, float* y) {
  for (int64_t row = 0; row < layer.rows; ++row) {
    float* y_stream = y + row * layer.pitch;
    fill_stream(y_stream, layer.batch, bias == nullptr ? 0.0F : bias[row]);
    for (int64_t i = layer.row_begin[row]; i < layer.row_begin[row + 1]; ++i) {
      forward_weight(layer.values[i], x + layer.columns[i] * layer.pitch, y_stream, layer.batch);
    }
  }
}

void paper_backward(const PaperLayer& layer, const float* x, const float* dy, float* dx,
                    float* d_values) {
  for (int64_t col = 0; col < layer.cols && dx != nullptr; ++col) {
    fill_stream(dx + col * layer.pitch, layer.batch, 0.0F);
  }
  for (int64_t row = 0; row < layer.rows; ++row) {
    const float* dy_stream = dy + row * layer.pitch;
    for (int64_t i = layer.row_begin[row]; i < layer.row_begin[row + 1]; ++i) {
      const int64_t offset = layer.columns[i] * layer.pitch;
      d_values[i] = dx == nullptr ? backward_weight_only(x + offset, dy_stream, layer.batch)
                                  : backward_weight(layer.values[i], x + offset, dy_stream,
                                                    dx + offset, layer.batch);
    }
  }
}

}  // namespace sparsejit::frontend
