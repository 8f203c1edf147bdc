// Eight loads a turn, each added to a sum of its own; see vector_read.h.
//
//     vaddps ymm0, ymm0, [rdi]
//     vaddps ymm1, ymm1, [rdi + 32]   ...
#include "bench/vector_read.h"

#include <immintrin.h>

namespace sparsejit::frontend {

float read_vectors(const float* data, int64_t count) {
  constexpr int64_t kSums = 8;
  constexpr int64_t kLanes = 8;
  __m256 sums[kSums];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  for (int64_t i = 0; i < count; i += kSums * kLanes) {
    for (int64_t s = 0; s < kSums; ++s) {
      sums[s] = _mm256_add_ps(sums[s], _mm256_loadu_ps(data + i + s * kLanes));
    }
  }
  __m256 total = sums[0];
  for (int64_t s = 1; s < kSums; ++s) total = _mm256_add_ps(total, sums[s]);
  return _mm256_cvtss_f32(total);
}

}  // namespace sparsejit::frontend
