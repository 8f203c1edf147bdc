// Blocks whose strips take their share of L1, beside two strips of a row; chunks large enough to be
// worth their bodies.
#include "plan_strip.h"

#include <algorithm>

#include "emitters.h"
#include "sparsejit/strips.h"
#include "whole_numbers.h"

namespace sparsejit {
namespace {

// Share of L1 that the gathered strips of a block take. Zen 5 (48 KiB), 768 -> 3072, batch 902, in
// a program of its own, ms at 80 / 90 / 95%: 72 strips of 128 floats 11.7 / 6.9 / 4.9, 96 of them
// 11.7 / 6.7 / 4.7; 144 strips of 64 floats 11.6 / 6.6 / 4.1.
constexpr int64_t kBlockNumerator = 3;
constexpr int64_t kBlockDenominator = 4;

// Taps of a chunk that are worth its bodies, of about 6 KiB; but a part for each core, unless it
// were tiny.
constexpr int64_t kMinTapsPerChunk = 4096;
constexpr int64_t kMinTapsPerPart = 1024;
constexpr int64_t kMaxParts = 64;

constexpr int64_t kWordBytes = 4;

int64_t body_bytes(const Plan& plan, int64_t taps) {
  const bool fused = plan.kind == KernelKind::fused;
  return (fused ? 162 : 132) + (fused ? 59 : 40) * taps + 86 * divide_up(taps, 4);
}

// Gathered strips of `floats` floats in a block, at most.
int64_t block_strips(int64_t floats, const MachineModel& machine) {
  const int64_t bytes = machine.l1_bytes * kBlockNumerator / kBlockDenominator;
  return std::max<int64_t>(8, bytes / (floats * static_cast<int64_t>(sizeof(float))));
}

int64_t count_blocks(const StripWork& work, int64_t floats, const MachineModel& machine) {
  return divide_up(work.streams, block_strips(floats, machine));
}

// Short strips make large blocks, so that fewer groups of taps load and store their row; long ones
// pay where groups are full anyway.
int64_t strip_floats(const StripWork& work, const MachineModel& machine) {
  constexpr int64_t kShort = kMaxStripFloats / 2;
  constexpr int64_t kTapsPerBlock = 20;
  const int64_t blocks = count_blocks(work, kShort, machine);
  return work.taps < kTapsPerBlock * work.rows * blocks ? kShort : kMaxStripFloats;
}

}  // namespace

// What strips cost, in taps: for each row and block, loading and storing the row; packing each
// gathered stream; packing two own streams and unpacking one. Measured on Zen 5, hot and cold: the
// backward pass of 15 layers, linear from 256 -> 256 to 768 -> 3072 and convolutions of ResNet-18
// and -50, from 80 to 99%, strips against streams. Costs up to 0.7 of the taps: 1.07 to 2.4 times
// as fast; 0.7 to 1: 1.02 to 1.24; 1 to 1.2: 0.62 to 0.96 hot, 0.7 to 1.06 cold; slower beyond.
bool gains_by_strips(const StripWork& work, const MachineModel& machine) {
  constexpr double kPerRowAndBlock = 1.5;
  constexpr double kPerStream = 6;
  constexpr double kPerRow = 4;
  constexpr int64_t kShortStream = int64_t{kMaxResidentVectors} * kPieceLanes;
  if (machine.unrolled_isa.lanes != 2 * kPieceLanes || work.floats <= kShortStream) return false;
  const auto rows = static_cast<double>(work.rows);
  const auto blocks = static_cast<double>(count_blocks(work, kMaxStripFloats / 2, machine));
  const double cost = kPerRowAndBlock * rows * blocks +
                      kPerStream * static_cast<double>(work.streams) + kPerRow * rows;
  const auto floats = static_cast<double>(work.floats);
  const double padded = static_cast<double>(divide_up(work.floats, kStripUnit) * kStripUnit);
  return cost < floats / padded * static_cast<double>(work.taps);
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

std::vector<int32_t> packed_order(const TapTable& table, const Plan& plan) {
  std::vector<int32_t> order;
  order.reserve(table.taps.size());
  const auto append = [&](TapRange taps) {
    for (int64_t i = taps.begin; i < taps.end; ++i) order.push_back(table.taps[i].value);
  };
  if (plan.family != KernelFamily::strip) {
    append({0, table.size()});
    return order;
  }
  for (const Chunk& chunk : plan.chunks) {
    for (const TapGroup& group : strip_groups(table, plan, chunk)) append(group.taps);
  }
  return order;
}

void plan_strips(Plan& plan, const TapTable& table, const MachineModel& machine) {
  const StripWork work{.taps = table.size(),
                       .rows = std::max<int64_t>(1, table.rows()),
                       .streams = std::max<int64_t>(1, table.streams)};
  plan.lanes = 2 * static_cast<int>(kPieceLanes);
  plan.vectors = 2;
  plan.taps_per_group = kStripTaps;
  plan.packed_values = true;
  plan.panel = strip_floats(work, machine);
  plan.blocks = static_cast<int32_t>(divide_up(work.streams, block_strips(plan.panel, machine)));
  plan.block_streams = divide_up(work.streams, plan.blocks);
}

PartLimits strip_part_limits(const Plan& plan, const TapTable& table, const MachineModel& machine) {
  const int64_t for_cores =
      divide_up(table.size() + kRowCostInTaps * table.rows(), std::max(1, machine.cores));
  const int64_t most = plan.blocks * kMinTapsPerChunk;
  return {.max_parts = kMaxParts, .min_taps = std::clamp(for_cores, kMinTapsPerPart, most)};
}

int64_t strip_chunk_bytes(const TapTable& table, const Plan& plan, const Chunk& chunk) {
  int64_t bytes = kWordBytes;
  int64_t size = 0;
  for (const TapGroup& group : strip_groups(table, plan, chunk)) {
    if (group.count() != size) bytes += kWordBytes + body_bytes(plan, group.count());
    size = group.count();
    bytes += (1 + size) * kWordBytes;
  }
  return bytes;
}

}  // namespace sparsejit
