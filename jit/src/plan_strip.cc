// Blocks whose strips take their share of L1, beside two strips of a row; chunks large enough to be
// worth their bodies.
#include "plan_strip.h"

#include <algorithm>

#include "emitters.h"
#include "sparsejit/strips.h"
#include "whole_numbers.h"

namespace sparsejit {
namespace {

// Share of L1 that the gathered strips of a block take. Zen 5 (48 KiB), 768 -> 3072, batch 902, 80
// / 90 / 95%: 48 strips 11.4 / - / -, 72 strips 11.7 / 6.9 / 4.9, 96 strips 11.7 / 6.7 / 4.7 ms.
constexpr int64_t kBlockNumerator = 3;
constexpr int64_t kBlockDenominator = 4;
constexpr int64_t kStripBytes = kStripFloats * static_cast<int64_t>(sizeof(float));

// A part for each core at least; taps of a chunk that are worth its bodies, of about 6 KiB.
constexpr int64_t kMinTapsPerChunk = 4096;
constexpr int64_t kMaxParts = 64;

constexpr int64_t kWordBytes = 4;

int64_t body_bytes(int64_t taps) { return 175 + 62 * taps + 66 * divide_up(taps, 4); }

}  // namespace

bool gains_by_strips(const StripWork& work, const MachineModel& machine) {
  constexpr int64_t kMinFloats = 128;
  constexpr double kMinTapsPerBlock = 2.5;
  constexpr int64_t kMinTapsPerStream = 12;
  if (machine.unrolled_isa.lanes != 2 * kPieceLanes || work.floats < kMinFloats) return false;
  if (work.taps < kMinTapsPerStream * work.streams) return false;
  const int64_t block = std::min(work.streams, strips_of_block(machine));
  const double per_block = static_cast<double>(work.taps) / static_cast<double>(work.rows) *
                           static_cast<double>(block) / static_cast<double>(work.streams);
  return per_block >= kMinTapsPerBlock;
}

int64_t strips_of_block(const MachineModel& machine) {
  return std::max<int64_t>(8, machine.l1_bytes * kBlockNumerator / kBlockDenominator / kStripBytes);
}

std::vector<TapGroup> strip_groups(const TapTable& table, const Plan& plan, const Chunk& chunk) {
  std::vector<TapGroup> groups;
  for (int64_t row = plan.part_begin[chunk.part]; row < plan.part_begin[chunk.part + 1]; ++row) {
    const TapRange taps = block_range(table, plan, row, chunk.block);
    if (taps.begin == taps.end) continue;
    for_each_group(taps, plan.taps_per_group, [&](int64_t at, int count, bool) {
      groups.push_back({.row = row, .taps = {at, at + count}});
    });
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TapGroup& a, const TapGroup& b) { return a.count() > b.count(); });
  return groups;
}

void plan_strips(Plan& plan, const TapTable& table, const MachineModel& machine) {
  const int64_t streams = std::max<int64_t>(1, table.streams);
  plan.lanes = 2 * static_cast<int>(kPieceLanes);
  plan.vectors = 2;
  plan.taps_per_group = kStripTaps;
  plan.packed_values = true;
  plan.panel = kStripFloats;
  plan.blocks = static_cast<int32_t>(divide_up(streams, strips_of_block(machine)));
  plan.block_streams = divide_up(streams, plan.blocks);
}

PartLimits strip_part_limits(const Plan& plan, const TapTable& table, const MachineModel& machine) {
  const int64_t for_cores = table.size() / std::max(1, machine.cores);
  return {.max_parts = kMaxParts,
          .min_taps = std::clamp<int64_t>(for_cores, 1, plan.blocks * kMinTapsPerChunk)};
}

int64_t strip_chunk_bytes(const TapTable& table, const Plan& plan, const Chunk& chunk) {
  int64_t bytes = kWordBytes;
  int64_t size = 0;
  for (const TapGroup& group : strip_groups(table, plan, chunk)) {
    if (group.count() != size) bytes += kWordBytes + body_bytes(group.count());
    size = group.count();
    bytes += (2 + size) * kWordBytes;
  }
  return bytes;
}

}  // namespace sparsejit
