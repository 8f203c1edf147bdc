// plan_kernel: one pure function from taps, request and machine to a Plan.
//
// Read plan_kernel at the bottom first; the helpers above each make one decision. Constants come
// from measurements on Zen 3 and Zen 4 (bench/README.md); cache sizes always from the machine.
#include "sparsejit/plan.h"

#include <algorithm>

#include "plan_parts.h"
#include "plan_strip.h"
#include "plan_table.h"
#include "sparsejit/error.h"
#include "sparsejit/strips.h"
#include "whole_numbers.h"

namespace sparsejit {
namespace {

// Accumulators, held values and scratch must fit the vector registers.
int stream_taps_per_group(const KernelRequest& request) {
  switch (request.kind) {
    case KernelKind::accumulate:
      return request.relu ? 12 : 13;  // values; and bias, tail, accumulator, with ReLU a zero
    case KernelKind::fused:
      return 6;  // values, 6 sums; and mask, paired, own, one load
    case KernelKind::products:
      return 12;  // sums; and mask, paired, one load
  }
  return 1;
}
constexpr int kResidentProductsTaps = 4;

// Longest panel: a stream as long as this many bytes of L2 a float. Long unit-stride streams are
// what hardware prefetchers like, fewer panels fetch the code less often, and a single panel needs
// no reordered values. Measured on Zen 4 (1 MiB): 192 floats 6.4 ms, 304 5.9, 480 5.7, 912 5.2.
constexpr int64_t kL2BytesPerPanelFloat = 1024;
constexpr int64_t kMinPanel = 256;
constexpr int64_t kMaxPanel = 1024;
// What the gathered streams of one panel and block may fill, in sizes of L2. Measured on Zen 4,
// 768 -> 3072, batch 902, 80%: accumulate in 1, 2, 4 blocks 20.0, 20.5, 21.9 ms; fused in 1, 2, 4,
// 12 blocks 39.4, 31.8, 29.8, 28.9 ms.
constexpr double kAccumulateBlockInL2 = 4.0;
constexpr double kSumsBlockInL2 = 0.75;
// Taps of one row in one block, on average, that make loading and storing its own stream cheap.
constexpr int64_t kTapsPerBlock = 12;

// Enough parts for any sensible thread count, each with enough taps to be worth an entry.
constexpr int64_t kMaxParts = 64;
constexpr int64_t kMinTapsPerPart = 1024;

// Tiled family. A block's tile, the one that is prefetched and the sums of a part share L1; the
// code of a chunk is executed once a tile and has to stay in a first-level code cache. Measured on
// Zen 4, 768 -> 3072, batch 902, 80% / 90% / 95%: blocks of 96 streams and chunks of 8 to 16
// KiB 12.2 to 12.5 / 6.9 to 7.4 / 4.6 to 5.0 ms; blocks of 48 or 154 streams a tenth to a fifth
// slower. Four vectors and two rows were no faster.
constexpr int kTiledRows = 4;
constexpr int kTiledValues = 4;  // of one row, fetched by one load
// With AVX-512 a tile is one vector and a value comes with the instruction that uses it, so there
// is room for the sums of many rows. Zen 5, the same layer at 80% / 95%: AVX2 16.2 / 4.8 ms, 16
// rows 6.7 / 2.65, 24 rows 6.35 / 2.55.
constexpr int kTiledRows512 = 24;
constexpr int64_t kL1BytesPerBlockStream = 320;
constexpr int64_t kTiledChunkBytes = 12 << 10;
constexpr int64_t kTiledTapBytes = 27;
constexpr int64_t kTiledTapBytes512 = 18;
constexpr int64_t kMaxTiledParts = 512;
// Part of L2 that the sums of the rows of a part may fill between blocks.
constexpr int64_t kPartialShareOfL2 = 2;

// Largest number of interleaved rows whose accumulators, one shared source and one value fit.
int resident_rows(const VectorIsa& isa, int vectors) {
  constexpr int kMaxRows = 8;
  int rows = 1;
  while (rows < kMaxRows && (rows + 1) * vectors + vectors + 1 <= isa.registers) ++rows;
  return rows;
}

struct PanelAndBlock {
  int64_t panel;
  int64_t block_streams;
};

PanelAndBlock plan_panel(const TapTable& table, KernelKind kind, const MachineModel& machine) {
  const int64_t streams = std::max<int64_t>(1, table.streams);
  const int64_t rows = std::max<int64_t>(1, table.rows());
  const int64_t panel = longest_panel(machine);
  const double share = kind == KernelKind::accumulate ? kAccumulateBlockInL2 : kSumsBlockInL2;
  const auto budget = static_cast<int64_t>(share * static_cast<double>(machine.l2_bytes));
  const int64_t fitting = budget / (panel * static_cast<int64_t>(sizeof(float)));
  const int64_t worthwhile = divide_up(streams * kTapsPerBlock * rows, table.size() + 1);
  const int64_t blocks = divide_up(streams, std::max({int64_t{1}, fitting, worthwhile}));
  return {.panel = panel, .block_streams = divide_up(streams, blocks)};
}

// Whether each sum of a value is made in several calls and added up. Resident kernels never do.
bool sums_in_pieces(const KernelRequest& request, const MachineModel& machine) {
  return request.kind != KernelKind::accumulate &&
         (request.repeated ||
          round_down(request.length, machine.isa.lanes) > longest_panel(machine));
}

// Longest stream of the resident family, in vectors. Unrolled code is bound by its own bytes, so
// generated code prefers a loop earlier than intrinsics do, and AVX-512, whose vectors need half of
// the code, later. Measured, 256 -> 256, accumulate resident / stream in GF/s: Zen 4 at 90%, 6
// vectors 57.9 / 59.7, 4 vectors 68.1 / 53.8; Zen 5 with AVX-512 at 90 / 95%, 4 vectors 102 / 82
// and 130 / 79; products, 8 vectors of AVX2, at 90%: a third slower than a loop.
constexpr int64_t kUnrolledVectors = 5;

int64_t longest_resident(const VectorIsa& isa) {
  return std::min(kUnrolledVectors * isa.lanes, int64_t{8} * kMaxResidentVectors);
}

// Of a resident plan. Streams shorter than a vector of AVX-512 have too few floats for it.
const VectorIsa& resident_isa(const KernelRequest& request, const MachineModel& machine) {
  const bool unrolled = request.kind == KernelKind::accumulate && !request.interpreted &&
                        request.length >= machine.unrolled_isa.lanes;
  return unrolled ? machine.unrolled_isa : machine.isa;
}

// Generated fused code is never resident, see jit/README.md.
bool is_resident(const KernelRequest& request, const MachineModel& machine) {
  if (sums_in_pieces(request, machine)) return false;
  const int64_t longest = int64_t{kMaxResidentVectors} * machine.isa.lanes;
  if (request.interpreted) return request.length <= longest;
  if (request.kind == KernelKind::fused) return false;
  return request.length <= longest_resident(resident_isa(request, machine));
}

void plan_pitches(Plan& plan, const KernelRequest& request) {
  constexpr int64_t kLongestTail = 7;
  if (plan.family == KernelFamily::strip) {
    plan.pitches = {.gathered = plan.panel, .own = plan.panel, .paired = plan.panel};
    return;
  }
  const bool tiled = plan.family == KernelFamily::tiled;
  const int64_t packed = stream_pitch(plan.panel + (plan.tail || tiled ? kLongestTail : 0));
  const auto choose = [&](int64_t pitch) { return pitch == 0 ? packed : pitch; };
  plan.pitches.gathered = tiled ? kTileFloats : choose(request.pitches.gathered);
  plan.pitches.own = plan.own_in_tiles ? kTileFloats : choose(request.pitches.own);
  plan.pitches.paired = choose(request.pitches.paired);
}

// Sizes of the emitted pieces, in bytes (plan_test checks the sum against the emitter).
struct PieceBytes {
  int64_t tap;
  int64_t group;
  int64_t tail_tap;
  int64_t tail_group;
};

PieceBytes stream_bytes(KernelKind kind) {
  switch (kind) {
    case KernelKind::accumulate:
      return {.tap = 18, .group = 40, .tail_tap = 10, .tail_group = 20};
    case KernelKind::fused:
      return {.tap = 38, .group = 100, .tail_tap = 20, .tail_group = 30};
    case KernelKind::products:
      return {.tap = 22, .group = 50, .tail_tap = 10, .tail_group = 16};
  }
  return {};
}

// With AVX-512, one vector: an instruction a tap, and a load for each source of a group of rows.
constexpr int64_t kEmbeddedTapBytes = 18;

int64_t tiled_tap_bytes(const Plan& plan) {
  return embeds_values(plan) ? kTiledTapBytes512 : kTiledTapBytes;
}

int64_t estimate_row_bytes(const Plan& plan, int64_t taps) {
  const int64_t vectors = plan.vectors;
  if (plan.family == KernelFamily::resident) {
    const int64_t evex = plan.lanes == 16 ? 1 : 0;  // its prefix is a byte longer
    const int64_t gathered = vectors >= 3 ? 6 + (6 + evex) * vectors : (9 + evex) * vectors;
    if (embeds_values(plan)) return taps * kEmbeddedTapBytes + 13 * vectors + 9;
    if (plan.kind == KernelKind::accumulate) return taps * (9 + evex + gathered) + 13 * vectors + 9;
    return taps * (gathered + 13) + 8 * vectors + 20;
  }
  if (plan.family == KernelFamily::table) return table_row_bytes(plan, taps);
  if (plan.family == KernelFamily::strip) return 0;  // see strip_chunk_bytes
  if (plan.family == KernelFamily::tiled) return taps * tiled_tap_bytes(plan) + 18 * vectors + 9;
  const int64_t groups = std::max<int64_t>(1, divide_up(taps, plan.taps_per_group));
  const PieceBytes bytes = stream_bytes(plan.kind);
  if (!plan.tail) return taps * bytes.tap + groups * bytes.group;
  return taps * (bytes.tap + bytes.tail_tap) + groups * (bytes.group + bytes.tail_group);
}

void plan_chunks(Plan& plan, const TapTable& table) {
  constexpr int64_t kChunkOverhead = 32 + 64;  // alignment, entry and return
  const bool strip = plan.family == KernelFamily::strip;
  int64_t taps = 0;  // of the chunks before
  for (int32_t block = 0; block < plan.blocks; ++block) {
    for (int32_t part = 0; part < plan.parts(); ++part) {
      Chunk chunk{.part = part, .block = block};
      for (int64_t row = plan.part_begin[part]; row < plan.part_begin[part + 1]; ++row) {
        const TapRange range = block_range(table, plan, row, block);
        for (int64_t tap = range.begin; tap < range.end; ++tap) {
          const int64_t slot = strip ? taps : value_slot(table, plan, tap);
          if (chunk.taps++ == 0 || slot < chunk.value_base) chunk.value_base = slot;
        }
        if (range.end > range.begin || block == 0) {
          plan.code_bytes_estimate += estimate_row_bytes(plan, range.end - range.begin);
        }
      }
      taps += chunk.taps;
      plan.code_bytes_estimate += kChunkOverhead;
      if (plan.family == KernelFamily::table) plan.code_bytes_estimate += table_code_bytes(plan);
      if (strip) {
        plan.code_bytes_estimate += strip_chunk_bytes(table, plan, chunk);
      }
      plan.chunks.push_back(chunk);
    }
  }
}

void plan_resident(Plan& plan, const KernelRequest& request, const TapTable& table,
                   const MachineModel& machine) {
  const VectorIsa& isa = resident_isa(request, machine);
  plan.lanes = isa.lanes;
  plan.vectors = static_cast<int>(divide_up(request.length, isa.lanes));
  plan.panel = request.length;
  plan.block_streams = std::max<int64_t>(1, table.streams);
  if (request.kind == KernelKind::accumulate) {
    plan.rows_per_group = resident_rows(isa, plan.vectors);
  } else {
    plan.taps_per_group = kResidentProductsTaps;
  }
}

void plan_stream(Plan& plan, const KernelRequest& request, const TapTable& table,
                 const MachineModel& machine) {
  plan.vectors = 1;
  const PanelAndBlock chosen = plan_panel(table, request.kind, machine);
  plan.panel = chosen.panel;
  plan.block_streams = chosen.block_streams;
  plan.blocks =
      static_cast<int32_t>(std::max<int64_t>(1, divide_up(table.streams, plan.block_streams)));
  plan.taps_per_group = stream_taps_per_group(request);
  plan.packed_values = sums_in_pieces(request, machine);
}

// Blocks of streams whose tile takes its share of L1; parts whose chunks take their share of the
// first-level code cache, and whose sums between blocks take theirs of L2.
void plan_tiled(Plan& plan, const TapTable& table, bool own_in_tiles, const MachineModel& machine) {
  const int64_t streams = std::max<int64_t>(1, table.streams);
  plan.lanes = machine.unrolled_isa.lanes;
  plan.vectors = static_cast<int>(kTileFloats / plan.lanes);
  plan.rows_per_group = embeds_values(plan) ? kTiledRows512 : kTiledRows;
  plan.taps_per_group = embeds_values(plan) ? 1 : kTiledValues;
  plan.own_in_tiles = own_in_tiles;
  plan.panel = longest_panel(machine);
  const int64_t wanted = std::max<int64_t>(16, machine.l1_bytes / kL1BytesPerBlockStream);
  plan.blocks = static_cast<int32_t>(divide_up(streams, wanted));
  plan.block_streams = divide_up(streams, plan.blocks);
}

PartLimits part_limits(const Plan& plan, const TapTable& table, const MachineModel& machine) {
  if (plan.family == KernelFamily::table) return table_part_limits();
  if (plan.family == KernelFamily::strip) return strip_part_limits(plan, table, machine);
  PartLimits limits{.max_parts = kMaxParts, .min_taps = kMinTapsPerPart};
  if (plan.family != KernelFamily::tiled) return limits;
  const auto row_bytes = plan.panel * static_cast<int64_t>(sizeof(float));
  limits.max_parts = kMaxTiledParts;
  const int64_t group = plan.rows_per_group;
  limits.min_taps = plan.blocks * kTiledChunkBytes / tiled_tap_bytes(plan);
  limits.max_rows =
      std::max(group, round_down(machine.l2_bytes / kPartialShareOfL2 / row_bytes, group));
  return limits;
}

KernelFamily family_of(const KernelRequest& request, const MachineModel& machine) {
  if (request.tiled) return KernelFamily::tiled;
  if (request.table) return KernelFamily::table;
  if (request.strips) return KernelFamily::strip;
  return is_resident(request, machine) ? KernelFamily::resident : KernelFamily::stream;
}

}  // namespace

int64_t Plan::most_rows() const {
  int64_t most = 0;
  for (int32_t part = 0; part < parts(); ++part) {
    most = std::max(most, part_begin[part + 1] - part_begin[part]);
  }
  return most;
}

bool can_use_table(const KernelRequest& request, const MachineModel& machine) {
  return !sums_in_pieces(request, machine) &&
         request.length <= int64_t{kMaxResidentVectors} * machine.isa.lanes;
}

bool can_be_tiled(const TapTable& table, const KernelRequest& request) {
  return request.kind == KernelKind::accumulate && request.length >= kTileFloats &&
         is_without_shifts(table);
}

bool embeds_values(const Plan& plan) {
  return plan.kind == KernelKind::accumulate && plan.lanes == 16 && plan.vectors == 1;
}

TapRange block_range(const TapTable& table, const Plan& plan, int64_t row, int32_t block) {
  const auto begin = table.taps.begin() + table.row_begin[row];
  const auto end = table.taps.begin() + table.row_begin[row + 1];
  if (plan.blocks == 1) return {table.row_begin[row], table.row_begin[row + 1]};
  const auto below = [](const Tap& tap, int64_t stream) { return tap.stream < stream; };
  const auto first = std::lower_bound(begin, end, block * plan.block_streams, below);
  const auto last = std::lower_bound(first, end, (block + 1) * plan.block_streams, below);
  return {first - table.taps.begin(), last - table.taps.begin()};
}

bool skips_row(const Plan& plan, TapRange taps, int32_t block) {
  if (taps.begin != taps.end || block == 0) return false;
  return !(plan.relu && block + 1 == plan.blocks);
}

int64_t longest_resident(const MachineModel& machine) {
  return longest_resident(machine.unrolled_isa);
}

int64_t longest_panel(const MachineModel& machine) {
  return round_down(std::clamp(machine.l2_bytes / kL2BytesPerPanelFloat, kMinPanel, kMaxPanel), 16);
}

int64_t stream_pitch(int64_t length) {
  constexpr int64_t kLine = 16;  // floats
  int64_t pitch = std::max<int64_t>(1, divide_up(length, kLine)) * kLine;
  if (pitch % 256 == 0) pitch += kLine;
  return pitch;
}

// Stream kernels loop over any length: only whether there is a tail and, for sums, whether one
// panel covers it make a difference.
KernelRequest canonical_request(const KernelRequest& request, const MachineModel& machine) {
  const int64_t lanes = machine.isa.lanes;
  KernelRequest canonical = request;
  canonical.repeated = sums_in_pieces(request, machine);
  if (request.tiled) {
    canonical.length = kTileFloats;
    canonical.pitches.gathered = 0;
    return canonical;
  }
  if (request.strips) {
    canonical.length = kMaxStripFloats;
    canonical.pitches = {};
    canonical.repeated = false;
    return canonical;
  }
  if (request.table || is_resident(request, machine)) return canonical;
  canonical.length = (kMaxResidentVectors + 1) * lanes;
  if (request.length % lanes != 0) ++canonical.length;
  return canonical;
}

Plan plan_kernel(const TapTable& table, const KernelRequest& request, const MachineModel& machine,
                 const Plan* previous) {
  SPARSEJIT_CHECK(request.length, >=, machine.isa.lanes);
  Plan plan;
  plan.kind = request.kind;
  plan.relu = request.relu;
  plan.family = family_of(request, machine);
  const bool whole = plan.family == KernelFamily::tiled || plan.family == KernelFamily::strip;
  plan.tail = !whole && request.length % machine.isa.lanes != 0;
  switch (plan.family) {
    case KernelFamily::resident:
      plan_resident(plan, request, table, machine);
      break;
    case KernelFamily::stream:
      plan_stream(plan, request, table, machine);
      break;
    case KernelFamily::tiled:
      SPARSEJIT_CHECK(can_be_tiled(table, request), ==, true);
      plan_tiled(plan, table, request.own_in_tiles, machine);
      break;
    case KernelFamily::table:
      SPARSEJIT_CHECK(can_use_table(request, machine), ==, true);
      plan_table(plan, request, table, machine);
      break;
    case KernelFamily::strip:
      SPARSEJIT_CHECK(request.kind == KernelKind::accumulate, ==, false);
      SPARSEJIT_CHECK(is_without_shifts(table), ==, true);
      plan_strips(plan, table, machine);
      break;
  }
  plan_pitches(plan, request);
  plan_parts(plan, table, part_limits(plan, table, machine), previous);
  plan_chunks(plan, table);
  return plan;
}

}  // namespace sparsejit
