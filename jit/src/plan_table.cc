// Blocks are chosen for L1, as these kernels read one vector for each product; rows of one chunk
// are sorted by their taps, so chunks should be large.
#include "plan_table.h"

#include <algorithm>

#include "whole_numbers.h"

namespace sparsejit {
namespace {

// Longest stream, in vectors, of which two rows have their sums in registers: one row alone waits
// for each of its additions. Sums of products do not.
int paired_vectors(KernelKind kind) {
  if (kind == KernelKind::products) return 0;
  return kind == KernelKind::accumulate ? 6 : 2;
}

// What the gathered streams of a block may fill, in sizes of L1 (half of it where no sums begin
// with a bias: fused, batch 32 at 90%, 0.338 and 0.314 ms for two L1s and one), and the taps of a
// row in a block, on average, that make loading and storing its sums cheap. Measured on Zen 5 (48
// KiB), accumulate by source of 768 -> 3072, four vectors, in 1, 2, 4, 8 blocks, over intrinsics:
// 90% (307 taps a row) 1.04, 1.18, 1.30, 1.34; 95% 1.20, 1.27, 1.32, 1.32; 99% 1.21, 1.21, 1.07,
// 0.90.
constexpr int64_t kAccumulateBlockInL1 = 2;
constexpr int64_t kFusedBlockInL1 = 1;
constexpr int64_t kTapsPerBlock = 24;
// A stream takes at least a cache line.
constexpr int64_t kLineBytes = 64;

// Taps of each row that the body of an accumulate kernel takes at once, and of a round of sums.
constexpr int kBodyTaps = 16;
constexpr int kRoundTaps = 4;

// Enough parts for the threads of one socket; each with rows enough to find others like them.
constexpr int64_t kMaxParts = 16;
constexpr int64_t kMinTapsPerPart = 4096;

// Prefetching. Measured on Zen 5, 768 -> 3072, 90 to 98%, over intrinsics, without and with:
// forward, batch 32, hot 1.30 and 1.30, cold 1.09 and 1.48; backward, values only, batch 16,
// hot 1.30 and 1.19, cold 1.13 and 1.33; batch 32, hot 1.32 and 1.28, cold 1.10 and 1.35. In fused
// kernels it costs two instructions for each tap, so only those do it that find little in L2
// anyway: for each tap there are a table and lines of the value and its gradient.
constexpr int kMaxPrefetchLines = 6;
constexpr int kFusedPrefetchTaps = 32;
constexpr int64_t kFusedTapBytes = 16;

constexpr int64_t kWordBytes = 4;

bool are_rows_contiguous(const TapTable& table, const Plan& plan) {
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (int64_t i = table.row_begin[row] + 1; i < table.row_begin[row + 1]; ++i) {
      if (value_slot(table, plan, i) != value_slot(table, plan, i - 1) + 1) return false;
    }
  }
  return true;
}

int64_t count_blocks(const Plan& plan, const TapTable& table, const MachineModel& machine) {
  const int64_t stream_bytes =
      std::max<int64_t>(kLineBytes, plan.panel * static_cast<int64_t>(sizeof(float)));
  const int64_t budget =
      plan.kind == KernelKind::accumulate ? kAccumulateBlockInL1 : kFusedBlockInL1;
  const int64_t fitting = divide_up(table.streams * stream_bytes, budget * machine.l1_bytes);
  const int64_t worthwhile = table.size() / std::max<int64_t>(1, table.rows()) / kTapsPerBlock;
  return std::max<int64_t>(1, std::min(fitting, worthwhile));
}

int choose_prefetch(const Plan& plan, const TapTable& table, const MachineModel& machine) {
  const int64_t taps = table.size();
  if (plan.kind == KernelKind::fused) {
    return taps * kFusedTapBytes > machine.l2_bytes ? kFusedPrefetchTaps : 0;
  }
  if (plan.kind == KernelKind::products || plan.names_values) return 0;
  const int64_t row_taps = taps / std::max<int64_t>(1, table.rows() * plan.blocks);
  const int64_t lines = divide_up(row_taps * kWordBytes, kLineBytes);
  return static_cast<int>(std::min<int64_t>(lines, kMaxPrefetchLines));
}

}  // namespace

void plan_table(Plan& plan, const KernelRequest& request, const TapTable& table,
                const MachineModel& machine) {
  const bool accumulate = request.kind == KernelKind::accumulate;
  plan.vectors = static_cast<int>(divide_up(request.length, machine.isa.lanes));
  plan.panel = request.length;
  plan.rows_per_group = plan.vectors <= paired_vectors(request.kind) ? 2 : 1;
  plan.taps_per_group = accumulate ? kBodyTaps : kRoundTaps;
  plan.names_values = request.kind == KernelKind::fused || !are_rows_contiguous(table, plan);
  plan.block_streams =
      std::max<int64_t>(1, divide_up(table.streams, count_blocks(plan, table, machine)));
  plan.blocks =
      static_cast<int32_t>(std::max<int64_t>(1, divide_up(table.streams, plan.block_streams)));
  plan.prefetch = choose_prefetch(plan, table, machine);
}

PartLimits table_part_limits() { return {.max_parts = kMaxParts, .min_taps = kMinTapsPerPart}; }

int64_t table_row_bytes(const Plan& plan, int64_t taps) {
  const int64_t tap_words = plan.names_values ? 2 : 1;
  const int64_t row_words = plan.kind == KernelKind::accumulate ? 8 : 9;
  return kWordBytes * (taps * tap_words + row_words);
}

int64_t table_code_bytes(const Plan& plan) {
  const int64_t vectors = plan.vectors;
  if (plan.kind == KernelKind::accumulate) {
    const int64_t rows = plan.rows_per_group;
    return rows * plan.taps_per_group * (9 + 7 * vectors) + 160 + 30 * rows * vectors;
  }
  const int64_t vector = plan.kind == KernelKind::fused ? 17 : 7;
  return 5 * (16 + vector * vectors) + 260 + 20 * vectors;
}

}  // namespace sparsejit
