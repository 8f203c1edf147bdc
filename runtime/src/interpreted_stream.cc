// Interpreted engine, stream family: groups of taps whose values stay in registers, with the
// loop over the panel inside. The group size is a template parameter so that the compiler keeps
// everything in registers and unrolls; up to 13 taps forward and 6 backward, as in the plan.
#include <immintrin.h>

#include <array>
#include <utility>

#include "interpreted_kernel.h"
#include "lane_sums.h"
#include "tail.h"

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;

struct ForwardGroup {
  const float* gathered;
  const int32_t* offsets;
  const float* values;  // of the group's first tap
  const float* bias;    // null: add to own
  float* own;
  int64_t length;    // of the loop
  const Tail* tail;  // null: none
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
  const auto vector_at = [&](int64_t t) {
    __m256 sum = first ? bias : _mm256_loadu_ps(group.own + t);
    for (int i = 0; i < kTaps; ++i) {
      sum = _mm256_fmadd_ps(value[i], _mm256_loadu_ps(source[i] + t), sum);
    }
    return sum;
  };
  __m256 tail = _mm256_setzero_ps();
  if (group.tail != nullptr) tail = vector_at(group.tail->offset);
  for (int64_t t = 0; t < group.length; t += kLanes) _mm256_storeu_ps(group.own + t, vector_at(t));
  if (group.tail != nullptr) _mm256_storeu_ps(group.own + group.tail->offset, tail);
}

struct BackwardGroup {
  const float* gathered;
  const int32_t* offsets;
  const float* values;  // of the first tap; by value index: values[taps[i].value]
  const Tap* taps;      // null: values and d_values are in the table's order
  const float* paired;
  float* own;  // null: no gradient of the input
  float* d_values;
  int64_t length;    // of the loop
  const Tail* tail;  // null: none
  bool first;

  int64_t value_slot(int i) const { return taps == nullptr ? i : taps[i].value; }
};

template <int kTaps>
struct BackwardState {
  std::array<const float*, kTaps + 1> source;
  std::array<__m256, kTaps + 1> value;
  std::array<__m256, kTaps + 1> sum;
};

// One vector at position t; the tail's dy is loaded through its mask.
template <int kTaps, bool kWantOwn, bool kMasked>
inline void backward_vector(const BackwardGroup& group, BackwardState<kTaps>& state, int64_t t) {
  const __m256 x = _mm256_loadu_ps(group.paired + t);
  __m256i mask = _mm256_setzero_si256();
  if (kMasked) mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group.tail->mask));
  __m256 old_dx = _mm256_setzero_ps();
  if (kWantOwn && !group.first) old_dx = _mm256_loadu_ps(group.own + t);
  __m256 dx = old_dx;
  for (int i = 0; i < kTaps; ++i) {
    const float* from = state.source[i] + t;
    const __m256 dy = kMasked ? _mm256_maskload_ps(from, mask) : _mm256_loadu_ps(from);
    if (kWantOwn) dx = _mm256_fmadd_ps(state.value[i], dy, dx);
    state.sum[i] = _mm256_fmadd_ps(x, dy, state.sum[i]);
  }
  if (kMasked && !group.first) dx = _mm256_blendv_ps(old_dx, dx, _mm256_castsi256_ps(mask));
  if (kWantOwn) _mm256_storeu_ps(group.own + t, dx);
}

template <int kTaps, bool kWantOwn>
void backward_group(const BackwardGroup& group) {
  BackwardState<kTaps> state;
  for (int i = 0; i < kTaps; ++i) {
    state.source[i] = group.gathered + group.offsets[i];
    if (kWantOwn) state.value[i] = _mm256_broadcast_ss(group.values + group.value_slot(i));
    state.sum[i] = _mm256_setzero_ps();
  }
  if (group.tail != nullptr) {
    backward_vector<kTaps, kWantOwn, true>(group, state, group.tail->offset);
  }
  for (int64_t t = 0; t < group.length; t += kLanes) {
    backward_vector<kTaps, kWantOwn, false>(group, state, t);
  }
  for (int i = 0; i < kTaps; ++i) {
    float& d_value = group.d_values[group.value_slot(i)];
    const float sum = lane_sum(state.sum[i]);
    d_value = group.taps == nullptr ? d_value + sum : sum;
  }
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
  const Tail tail = tail_of(job.length);
  const bool has_tail = job.plan.tail;
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
                       .length = has_tail ? tail.loop_length : job.length,
                       .tail = has_tail ? &tail : nullptr});
      bias = nullptr;
      at += count;
    } while (at < taps.end);
  }
}

void interpret_stream_backward(const InterpretedJob& job) {
  const Tail tail = tail_of(job.length);
  const bool has_tail = job.plan.tail;
  const bool want_own = job.plan.want_own;
  const bool packed = job.plan.packed_values;
  for (int64_t row = job.first_row; row < job.last_row; ++row) {
    const TapRange taps = block_range(job.table, job.plan, row, job.block);
    if (taps.begin == taps.end && (job.block > 0 || !want_own)) continue;
    int64_t at = taps.begin;
    do {
      const int count = group_taps(taps.end - at, job.plan.taps_per_group);
      const BackwardGroup group{
          .gathered = job.operands.gathered,
          .offsets = job.offsets + at,
          .values = job.operands.values + (packed ? at : 0),
          .taps = packed ? nullptr : job.table.taps.data() + at,
          .paired = job.operands.paired + row * job.plan.pitches.paired,
          .own = want_own ? job.operands.own + row * job.plan.pitches.own : nullptr,
          .d_values = job.operands.d_values + (packed ? at : 0),
          .length = has_tail ? tail.loop_length : job.length,
          .tail = has_tail ? &tail : nullptr,
          .first = at == taps.begin && job.block == 0};
      want_own ? kBackward[count](group) : kBackwardWithoutOwn[count](group);
      at += count;
    } while (at < taps.end);
  }
}

}  // namespace sparsejit
