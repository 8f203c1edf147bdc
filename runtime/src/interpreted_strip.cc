// Interpreted engine, strip family: groups of up to eight taps, whose values and sums stay in
// registers while a loop walks the strip, two vectors of 16 floats at a time. Compiled for AVX-512;
// there are strips only where the CPU has it (gains_by_strips).
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

#include "interpreted_kernel.h"
#include "sparsejit/strips.h"

namespace sparsejit {
namespace {

constexpr int kMaxTaps = 8;
constexpr int64_t kLanes = 16;

struct StripGroup {
  const float* gathered;
  const int32_t* offsets;
  const float* values;
  const float* paired;
  float* own;
  float* d_values;
  int64_t floats;
};

// Sums of pairs of lanes: two of `a`, then two of `b`, in each quarter.
inline __m512 add_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
}

// Adds what `sums` come to, over the first piece and then over the second, to `count` floats. The
// order inside of a piece is that of lane_sums.
inline __attribute__((always_inline)) void add_sums(const std::array<__m512, 4>& sums, int count,
                                                    float* d_values) {
  __m512 across = add_pairs(add_pairs(sums[0], sums[1]), add_pairs(sums[2], sums[3]));
  across = _mm512_add_ps(across, _mm512_shuffle_f32x4(across, across, 0xB1));
  const __m512 second = _mm512_shuffle_f32x4(across, across, 0x02);
  const auto mask = static_cast<__mmask16>((1 << count) - 1);
  const __m512 total = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, d_values), across);
  _mm512_mask_storeu_ps(d_values, mask, _mm512_add_ps(total, second));
}

template <int kTaps, bool kFused>
void strip_group(const StripGroup& g) {
  const StripGroup group = g;  // nothing that is stored can be a part of it
  std::array<const float*, kTaps> source;
  std::array<__m512, kTaps> value;
  std::array<__m512, kTaps> sum;
  __m512 zero = _mm512_setzero_ps();
  asm("" : "+v"(zero));  // else gcc clears the array in memory, which takes longer than the loop
  for (int i = 0; i < kTaps; ++i) {
    source[i] = group.gathered + group.offsets[i];
    if (kFused) value[i] = _mm512_set1_ps(group.values[i]);
    sum[i] = zero;
  }
  int64_t t = 0;
  do {
    __m512 x0 = _mm512_loadu_ps(group.paired + t);
    __m512 x1 = _mm512_loadu_ps(group.paired + t + kLanes);
    __m512 dx0 = kFused ? _mm512_loadu_ps(group.own + t) : zero;
    __m512 dx1 = kFused ? _mm512_loadu_ps(group.own + t + kLanes) : zero;
    for (int i = 0; i < kTaps; ++i) {
      __m512 dy0 = _mm512_loadu_ps(source[i] + t);
      __m512 dy1 = _mm512_loadu_ps(source[i] + t + kLanes);
      // Keeps gcc from loading each of them twice, as memory operands.
      asm("" : "+v"(dy0), "+v"(dy1));
      if (kFused) dx0 = _mm512_fmadd_ps(value[i], dy0, dx0);
      sum[i] = _mm512_fmadd_ps(x0, dy0, sum[i]);
      if (kFused) dx1 = _mm512_fmadd_ps(value[i], dy1, dx1);
      sum[i] = _mm512_fmadd_ps(x1, dy1, sum[i]);
    }
    if (kFused) _mm512_storeu_ps(group.own + t, dx0);
    if (kFused) _mm512_storeu_ps(group.own + t + kLanes, dx1);
    t += 2 * kLanes;
  } while (t < group.floats);
  for (int i = 0; i < kTaps; i += 4) {
    const auto sum_at = [&](int k) { return sum[std::min(k, kTaps - 1)]; };
    add_sums({sum_at(i), sum_at(i + 1), sum_at(i + 2), sum_at(i + 3)}, std::min(4, kTaps - i),
             group.d_values + i);
  }
}

template <bool kFused, int... kTaps>
constexpr auto groups_table(std::integer_sequence<int, kTaps...>) {
  return std::array{&strip_group<kTaps + 1, kFused>...};
}
constexpr auto kFusedGroups = groups_table<true>(std::make_integer_sequence<int, kMaxTaps>{});
constexpr auto kProductsGroups = groups_table<false>(std::make_integer_sequence<int, kMaxTaps>{});

}  // namespace

void interpret_strip_sums(const InterpretedJob& job) {
  const bool fused = job.plan.kind == KernelKind::fused;
  const auto& groups_of_size = fused ? kFusedGroups : kProductsGroups;
  const auto run = [&](int64_t row, int64_t at, int64_t slot, int64_t count) {
    groups_of_size[count - 1](
        {.gathered = job.operands.gathered,
         .offsets = job.offsets + at,
         .values = job.operands.values + slot,
         .paired = job.operands.paired + row * job.plan.pitches.paired,
         .own = fused ? job.operands.own + row * job.plan.pitches.own : nullptr,
         .d_values = job.operands.d_values + slot,
         .floats = job.length});
  };
  for (int32_t part = job.first_part; part < job.last_part; ++part) {
    const size_t chunk = static_cast<size_t>(job.block) * job.plan.parts() + part;
    int64_t slot = job.plan.chunks[chunk].value_base;
    for (const TapGroup& group : job.groups[chunk]) {
      const int64_t half = group.count() > kMaxTaps ? group.count() / 2 : 0;
      if (half > 0) run(group.row, group.taps.begin, slot, half);
      run(group.row, group.taps.begin + half, slot + half, group.count() - half);
      slot += group.count();
    }
  }
}

}  // namespace sparsejit
