// Interpreted engine, stream family: groups of taps whose values stay in registers, with the
// loop over the panel inside. The group size is a template parameter so that the compiler keeps
// everything in registers and unrolls; up to 13 taps forward and 6 backward, as in the plan.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

#include "interpreted_kernel.h"
#include "lane_sums.h"
#include "tail.h"

namespace sparsejit {
namespace {

constexpr int64_t kLanes = 8;

struct AccumulateGroup {
  const float* gathered;
  const int32_t* offsets;
  const Tap* taps;
  const float* values;  // by value index
  const float* start;   // null: add to own
  float* own;
  int64_t length;    // of the loop
  const Tail* tail;  // null: none
  bool relu;
};

template <int kTaps>
void accumulate_group(const AccumulateGroup& group) {
  std::array<const float*, kTaps + 1> source;  // +1: no zero-sized array
  std::array<__m256, kTaps + 1> value;
  for (int i = 0; i < kTaps; ++i) {
    source[i] = group.gathered + group.offsets[i];
    value[i] = _mm256_broadcast_ss(group.values + group.taps[i].value);
  }
  const bool first = group.start != nullptr;
  const __m256 start = first ? _mm256_broadcast_ss(group.start) : _mm256_setzero_ps();
  const auto vector_at = [&](int64_t t) __attribute__((always_inline)) {
    __m256 sum = first ? start : _mm256_loadu_ps(group.own + t);
    for (int i = 0; i < kTaps; ++i) {
      sum = _mm256_fmadd_ps(value[i], _mm256_loadu_ps(source[i] + t), sum);
    }
    return group.relu ? relu(sum) : sum;
  };
  // Stored after the loop: where the tail overlaps it, both compute the same bits.
  __m256 tail = _mm256_setzero_ps();
  if (group.tail != nullptr) tail = vector_at(group.tail->offset);
  for (int64_t t = 0; t < group.length; t += kLanes) _mm256_storeu_ps(group.own + t, vector_at(t));
  if (group.tail != nullptr) _mm256_storeu_ps(group.own + group.tail->offset, tail);
}

struct SumsGroup {
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
struct SumsState {
  std::array<const float*, kTaps + 1> source;
  std::array<__m256, kTaps + 1> value;
  std::array<__m256, kTaps + 1> sum;
};

// One vector at position t; returns dx.
template <int kTaps, bool kFused>
inline __attribute__((always_inline)) __m256 sums_vector(const SumsGroup& group,
                                                         SumsState<kTaps>& state, int64_t t,
                                                         __m256 x) {
  __m256 dx = _mm256_setzero_ps();
  if (kFused && !group.first) dx = _mm256_loadu_ps(group.own + t);
  for (int i = 0; i < kTaps; ++i) {
    const __m256 dy = _mm256_loadu_ps(state.source[i] + t);
    if (kFused) dx = _mm256_fmadd_ps(state.value[i], dy, dx);
    state.sum[i] = _mm256_fmadd_ps(x, dy, state.sum[i]);
  }
  return dx;
}

// The sums of taps i to i+3, or those that exist.
template <int kTaps>
inline __attribute__((always_inline)) void store_sums(const SumsGroup& group,
                                                      const SumsState<kTaps>& state, int i) {
  const auto sum_at = [&](int k) { return state.sum[std::min(k, kTaps - 1)]; };
  alignas(16) std::array<float, 4> sums;
  _mm_store_ps(sums.data(), lane_sums(sum_at(i), sum_at(i + 1), sum_at(i + 2), sum_at(i + 3)));
  for (int k = i; k < std::min(i + 4, kTaps); ++k) {
    float& d_value = group.d_values[group.value_slot(k)];
    d_value = group.taps == nullptr ? d_value + sums[k - i] : sums[k - i];
  }
}

template <int kTaps, bool kFused>
void sums_group(const SumsGroup& group) {
  SumsState<kTaps> state;
  for (int i = 0; i < kTaps; ++i) {
    state.source[i] = group.gathered + group.offsets[i];
    if (kFused) state.value[i] = _mm256_broadcast_ss(group.values + group.value_slot(i));
    state.sum[i] = _mm256_setzero_ps();
  }
  __m256 tail_dx = _mm256_setzero_ps();
  if (group.tail != nullptr) {
    const __m256 x = masked_tail(group.paired + group.tail->offset, *group.tail);
    tail_dx = sums_vector<kTaps, kFused>(group, state, group.tail->offset, x);
  }
  for (int64_t t = 0; t < group.length; t += kLanes) {
    const __m256 x = _mm256_loadu_ps(group.paired + t);
    const __m256 dx = sums_vector<kTaps, kFused>(group, state, t, x);
    if (kFused) _mm256_storeu_ps(group.own + t, dx);
  }
  if (kFused && group.tail != nullptr) {
    _mm256_storeu_ps(group.own + group.tail->offset, tail_dx);
  }
  for (int i = 0; i < kTaps; i += 4) store_sums<kTaps>(group, state, i);
}

constexpr int kMaxAccumulateTaps = 13;
constexpr int kMaxFusedTaps = 6;
constexpr int kMaxProductsTaps = 12;

template <int... kTaps>
constexpr auto accumulate_table(std::integer_sequence<int, kTaps...>) {
  return std::array{&accumulate_group<kTaps>...};
}
template <bool kFused, int... kTaps>
constexpr auto sums_table(std::integer_sequence<int, kTaps...>) {
  return std::array{&sums_group<kTaps, kFused>...};
}

constexpr auto kAccumulate =
    accumulate_table(std::make_integer_sequence<int, kMaxAccumulateTaps + 1>{});
constexpr auto kFusedSums = sums_table<true>(std::make_integer_sequence<int, kMaxFusedTaps + 1>{});
constexpr auto kProducts =
    sums_table<false>(std::make_integer_sequence<int, kMaxProductsTaps + 1>{});

int group_taps(int64_t left, int64_t limit) {
  const int64_t groups = (left + limit - 1) / limit;
  return groups == 0 ? 0 : static_cast<int>((left + groups - 1) / groups);
}

}  // namespace

void interpret_stream_accumulate(const InterpretedJob& job) {
  const Tail tail = tail_of(job.length);
  const bool has_tail = job.plan.tail;
  for (int64_t row = job.first_row(); row < job.last_row(); ++row) {
    const TapRange taps = block_range(job.table, job.plan, row, job.block);
    if (skips_row(job.plan, taps, job.block)) continue;
    int64_t at = taps.begin;
    const bool last_block = job.block + 1 == job.plan.blocks;
    const float* start = job.block == 0 ? job.operands.start + row : nullptr;
    do {
      const int count = group_taps(taps.end - at, job.plan.taps_per_group);
      kAccumulate[count]({.gathered = job.operands.gathered,
                          .offsets = job.offsets + at,
                          .taps = job.table.taps.data() + at,
                          .values = job.operands.values,
                          .start = start,
                          .own = job.operands.own + row * job.plan.pitches.own,
                          .length = has_tail ? tail.loop_length : job.length,
                          .tail = has_tail ? &tail : nullptr,
                          .relu = job.plan.relu && last_block && at + count == taps.end});
      start = nullptr;
      at += count;
    } while (at < taps.end);
  }
}

void interpret_stream_sums(const InterpretedJob& job) {
  const Tail tail = tail_of(job.length);
  const bool has_tail = job.plan.tail;
  const bool fused = job.plan.kind == KernelKind::fused;
  const bool packed = job.plan.packed_values;
  for (int64_t row = job.first_row(); row < job.last_row(); ++row) {
    const TapRange taps = block_range(job.table, job.plan, row, job.block);
    if (taps.begin == taps.end && (job.block > 0 || !fused)) continue;
    int64_t at = taps.begin;
    do {
      const int count = group_taps(taps.end - at, job.plan.taps_per_group);
      const SumsGroup group{.gathered = job.operands.gathered,
                            .offsets = job.offsets + at,
                            .values = job.operands.values + (packed ? at : 0),
                            .taps = packed ? nullptr : job.table.taps.data() + at,
                            .paired = job.operands.paired + row * job.plan.pitches.paired,
                            .own = fused ? job.operands.own + row * job.plan.pitches.own : nullptr,
                            .d_values = job.operands.d_values + (packed ? at : 0),
                            .length = has_tail ? tail.loop_length : job.length,
                            .tail = has_tail ? &tail : nullptr,
                            .first = at == taps.begin && job.block == 0};
      fused ? kFusedSums[count](group) : kProducts[count](group);
      at += count;
    } while (at < taps.end);
  }
}

}  // namespace sparsejit
