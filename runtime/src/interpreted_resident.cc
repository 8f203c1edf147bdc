// Interpreted engine, resident family: all vectors of a row stay in registers while its taps
// execute; the number of vectors is a template parameter. The last vector ends where the stream
// ends and overlaps the one before it when the length is no multiple of the lanes.
#include <immintrin.h>

#include <array>
#include <utility>

#include "interpreted_kernel.h"
#include "lane_sums.h"
#include "tail.h"

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;

// Position of vector v of a stream of `length` floats.
template <int kVectors>
inline int64_t vector_at(int v, int64_t length) {
  return v == kVectors - 1 ? length - kLanes : v * kLanes;
}

template <int kVectors>
void accumulate_rows(const InterpretedJob& job) {
  const Tap* taps = job.table.taps.data();
  const float* values = job.operands.values;
  for (int64_t row = job.first_row(); row < job.last_row(); ++row) {
    std::array<__m256, kVectors> sum;
    for (int v = 0; v < kVectors; ++v) sum[v] = _mm256_broadcast_ss(job.operands.start + row);
    const int64_t end = job.table.row_begin[row + 1];
    for (int64_t i = job.table.row_begin[row]; i < end; ++i) {
      const float* source = job.operands.gathered + job.offsets[i];
      const __m256 value = _mm256_broadcast_ss(values + taps[i].value);
      for (int v = 0; v < kVectors; ++v) {
        const __m256 x = _mm256_loadu_ps(source + vector_at<kVectors>(v, job.length));
        sum[v] = _mm256_fmadd_ps(value, x, sum[v]);
      }
    }
    float* own = job.operands.own + row * job.plan.pitches.own;
    for (int v = 0; v < kVectors; ++v) {
      if (job.plan.relu) sum[v] = relu(sum[v]);
      _mm256_storeu_ps(own + vector_at<kVectors>(v, job.length), sum[v]);
    }
  }
}

// One tap of a row: adds to dx, returns the products x * dy still to be summed across lanes.
template <int kVectors, bool kFused, bool kTail>
inline __attribute__((always_inline)) __m256 sums_tap(const float* dy,
                                                      const std::array<__m256, kVectors>& x,
                                                      int64_t length, __m256 value,
                                                      std::array<__m256, kVectors>& dx) {
  __m256 sum = _mm256_setzero_ps();
  for (int step = 0; step < kVectors; ++step) {
    // The tail comes first, as in the stream family.
    const int v = kTail ? (step + kVectors - 1) % kVectors : step;
    const __m256 d = _mm256_loadu_ps(dy + vector_at<kVectors>(v, length));
    if (kFused) dx[v] = _mm256_fmadd_ps(value, d, dx[v]);
    sum = _mm256_fmadd_ps(x[v], d, sum);
  }
  return sum;
}

// Taps in fours, so that the sums across lanes are shared.
template <int kVectors, bool kFused, bool kTail>
void sums_rows_of(const InterpretedJob& job) {
  const Tap* taps = job.table.taps.data();
  const float* values = job.operands.values;
  float* d_values = job.operands.d_values;
  const int64_t length = kTail ? job.length : kVectors * kLanes;
  const Tail tail = tail_of(job.length);
  for (int64_t row = job.first_row(); row < job.last_row(); ++row) {
    const float* paired = job.operands.paired + row * job.plan.pitches.paired;
    std::array<__m256, kVectors> x;
    std::array<__m256, kVectors> dx;
    for (int v = 0; v < kVectors; ++v) {
      x[v] = _mm256_loadu_ps(paired + vector_at<kVectors>(v, length));
      dx[v] = _mm256_setzero_ps();
    }
    if (kTail) x[kVectors - 1] = masked_tail(paired + tail.offset, tail);
    const auto products = [&](int64_t i) __attribute__((always_inline)) {
      return sums_tap<kVectors, kFused, kTail>(job.operands.gathered + job.offsets[i], x, length,
                                               _mm256_broadcast_ss(values + taps[i].value), dx);
    };
    const int64_t end = job.table.row_begin[row + 1];
    int64_t i = job.table.row_begin[row];
    for (; i + 4 <= end; i += 4) {
      const __m256 p0 = products(i);
      const __m256 p1 = products(i + 1);
      const __m256 p2 = products(i + 2);
      const __m256 p3 = products(i + 3);
      alignas(16) std::array<float, 4> sums;
      _mm_store_ps(sums.data(), lane_sums(p0, p1, p2, p3));
      for (int k = 0; k < 4; ++k) d_values[taps[i + k].value] = sums[k];
    }
    for (; i < end; ++i) d_values[taps[i].value] = lane_sum(products(i));
    if (!kFused) continue;
    float* own = job.operands.own + row * job.plan.pitches.own;
    for (int v = 0; v < kVectors; ++v) {
      _mm256_storeu_ps(own + vector_at<kVectors>(v, length), dx[v]);
    }
  }
}

template <int kVectors, bool kFused>
void sums_rows(const InterpretedJob& job) {
  job.plan.tail ? sums_rows_of<kVectors, kFused, true>(job)
                : sums_rows_of<kVectors, kFused, false>(job);
}

template <int... kIndex>
constexpr auto accumulate_table(std::integer_sequence<int, kIndex...>) {
  return std::array{&accumulate_rows<kIndex + 1>...};
}
template <bool kFused, int... kIndex>
constexpr auto sums_table(std::integer_sequence<int, kIndex...>) {
  return std::array{&sums_rows<kIndex + 1, kFused>...};
}

using Vectors = std::make_integer_sequence<int, kMaxResidentVectors>;
constexpr auto kAccumulate = accumulate_table(Vectors{});
constexpr auto kFusedSums = sums_table<true>(Vectors{});
constexpr auto kProducts = sums_table<false>(Vectors{});

}  // namespace

void interpret_resident_accumulate(const InterpretedJob& job) {
  kAccumulate[job.plan.vectors - 1](job);
}

void interpret_resident_sums(const InterpretedJob& job) {
  const int index = job.plan.vectors - 1;
  (job.plan.kind == KernelKind::fused) ? kFusedSums[index](job) : kProducts[index](job);
}

}  // namespace sparsejit
