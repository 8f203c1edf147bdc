// Interpreted engine, stream family: groups of taps whose values stay in registers, with the
// loop over the panel inside. The group size is a template parameter so that the compiler keeps
// everything in registers and unrolls; up to 13 taps forward and 6 backward, as in the plan.
#include <immintrin.h>

#include <array>
#include <utility>

#include "interpreted_kernel.h"
#include "lane_sums.h"

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;

struct ForwardGroup {
  const float* gathered;
  const int32_t* offsets;
  const float* values;  // of the group's first tap
  const float* bias;    // null: add to own
  float* own;
  int64_t length;
};

template <int kTaps>
void forward_group(const ForwardGroup& group) {
  std::array<const float*, kTaps + 1> source;  // +1: no zero-sized array
  std::array<__m256, kTaps + 1> value;
  for (int i = 0; i < kTaps; ++i) {
    source[i] = group.gathered + group.offsets[i];
    value[i] = _mm256_broadcast_ss(group.values + i);
  }
  const bool first = group.bias != nullptr;
  const __m256 bias = first ? _mm256_broadcast_ss(group.bias) : _mm256_setzero_ps();
  for (int64_t t = 0; t < group.length; t += kLanes) {
    __m256 sum = first ? bias : _mm256_loadu_ps(group.own + t);
    for (int i = 0; i < kTaps; ++i) {
      sum = _mm256_fmadd_ps(value[i], _mm256_loadu_ps(source[i] + t), sum);
    }
    _mm256_storeu_ps(group.own + t, sum);
  }
}

struct BackwardGroup {
  const float* gathered;
  const int32_t* offsets;
  const float* values;
  const float* paired;
  float* own;  // null: no gradient of the input
  float* d_values;
  int64_t length;
  bool first;
};

template <int kTaps, bool kWantOwn>
void backward_group(const BackwardGroup& group) {
  std::array<const float*, kTaps + 1> source;
  std::array<__m256, kTaps + 1> value;
  std::array<__m256, kTaps + 1> sum;
  for (int i = 0; i < kTaps; ++i) {
    source[i] = group.gathered + group.offsets[i];
    if (kWantOwn) value[i] = _mm256_broadcast_ss(group.values + i);
    sum[i] = _mm256_setzero_ps();
  }
  for (int64_t t = 0; t < group.length; t += kLanes) {
    const __m256 x = _mm256_loadu_ps(group.paired + t);
    __m256 dx = _mm256_setzero_ps();
    if (kWantOwn && !group.first) dx = _mm256_loadu_ps(group.own + t);
    for (int i = 0; i < kTaps; ++i) {
      const __m256 dy = _mm256_loadu_ps(source[i] + t);
      if (kWantOwn) dx = _mm256_fmadd_ps(value[i], dy, dx);
      sum[i] = _mm256_fmadd_ps(x, dy, sum[i]);
    }
    if (kWantOwn) _mm256_storeu_ps(group.own + t, dx);
  }
  for (int i = 0; i < kTaps; ++i) group.d_values[i] += lane_sum(sum[i]);
}

constexpr int kMaxForwardTaps = 13;
constexpr int kMaxBackwardTaps = 6;
constexpr int kMaxBackwardTapsWithoutOwn = 12;

template <int... kTaps>
constexpr auto forward_table(std::integer_sequence<int, kTaps...>) {
  return std::array{&forward_group<kTaps>...};
}
template <bool kWantOwn, int... kTaps>
constexpr auto backward_table(std::integer_sequence<int, kTaps...>) {
  return std::array{&backward_group<kTaps, kWantOwn>...};
}

constexpr auto kForward = forward_table(std::make_integer_sequence<int, kMaxForwardTaps + 1>{});
constexpr auto kBackward =
    backward_table<true>(std::make_integer_sequence<int, kMaxBackwardTaps + 1>{});
constexpr auto kBackwardWithoutOwn =
    backward_table<false>(std::make_integer_sequence<int, kMaxBackwardTapsWithoutOwn + 1>{});

int group_taps(int64_t left, int64_t limit) {
  const int64_t groups = (left + limit - 1) / limit;
  return groups == 0 ? 0 : static_cast<int>((left + groups - 1) / groups);
}

}  // namespace

void interpret_stream_forward(const InterpretedJob& job) {
  for (int64_t row = job.first_row; row < job.last_row; ++row) {
    const TapRange taps = block_range(job.table, job.plan, row, job.block);
    if (taps.begin == taps.end && job.block > 0) continue;
    int64_t at = taps.begin;
    const float* bias = job.block == 0 ? job.operands.bias + row : nullptr;
    do {
      const int count = group_taps(taps.end - at, job.plan.taps_per_group);
      kForward[count]({.gathered = job.operands.gathered,
                       .offsets = job.offsets + at,
                       .values = job.operands.values + at,
                       .bias = bias,
                       .own = job.operands.own + row * job.plan.pitches.own,
                       .length = job.length});
      bias = nullptr;
      at += count;
    } while (at < taps.end);
  }
}

void interpret_stream_backward(const InterpretedJob& job) {
  const bool want_own = job.plan.want_own;
  for (int64_t row = job.first_row; row < job.last_row; ++row) {
    const TapRange taps = block_range(job.table, job.plan, row, job.block);
    if (taps.begin == taps.end && (job.block > 0 || !want_own)) continue;
    int64_t at = taps.begin;
    do {
      const int count = group_taps(taps.end - at, job.plan.taps_per_group);
      const BackwardGroup group{
          .gathered = job.operands.gathered,
          .offsets = job.offsets + at,
          .values = job.operands.values + at,
          .paired = job.operands.paired + row * job.plan.pitches.paired,
          .own = want_own ? job.operands.own + row * job.plan.pitches.own : nullptr,
          .d_values = job.operands.d_values + at,
          .length = job.length,
          .first = at == taps.begin && job.block == 0};
      want_own ? kBackward[count](group) : kBackwardWithoutOwn[count](group);
      at += count;
    } while (at < taps.end);
  }
}

}  // namespace sparsejit
