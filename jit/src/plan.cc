// plan_kernel: one pure function from taps, request and machine to a Plan.
//
// Read plan_kernel at the bottom first; the helpers above each make one decision. Constants come
// from measurements on Zen 3 and Zen 4 (bench/README.md); cache sizes always from the machine.
#include "sparsejit/plan.h"

#include <algorithm>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Accumulators, held values and scratch must fit the vector registers:
// forward 13 values + bias + accumulator; backward 6 values + 6 sums + x + dx + one load.
constexpr int kForwardStreamTaps = 13;
constexpr int kBackwardStreamTaps = 6;
constexpr int kBackwardStreamTapsWithoutOwn = 12;
constexpr int kBackwardResidentTaps = 4;

// Share of L2 that the gathered streams of one panel and block may fill; the rest is for own
// streams, values and code.
constexpr double kGatheredShareOfL2 = 0.75;
// A shorter panel spends its time entering loops and reducing sums, and hardware prefetchers
// hardly start; a longer one gains nothing.
constexpr int64_t kMinPanel = 192;
constexpr int64_t kMaxPanel = 1024;
// Taps of one row in one block, on average, that make loading and storing its own stream cheap.
constexpr int64_t kForwardTapsPerBlock = 26;
constexpr int64_t kBackwardTapsPerBlock = 12;

// Enough parts for any sensible thread count, each with enough taps to be worth an entry.
constexpr int64_t kMaxParts = 64;
constexpr int64_t kMinTapsPerPart = 256;
// A row costs about as much as this many taps beside its own.
constexpr int64_t kRowCostInTaps = 2;

int64_t round_down(int64_t value, int64_t step) { return value / step * step; }
int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

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

// Blocks are as narrow as enough taps per row allow, so that panels can be long; together they
// fill the share of L2. Streams that are too many even for the shortest panel make more blocks.
PanelAndBlock plan_panel(const TapTable& table, Pass pass, const MachineModel& machine) {
  const double share = kGatheredShareOfL2 * static_cast<double>(machine.l2_bytes);
  const auto budget = static_cast<int64_t>(share / sizeof(float));
  const int64_t streams = std::max<int64_t>(1, table.streams);
  const int64_t rows = std::max<int64_t>(1, table.rows());
  const int64_t wanted = pass == Pass::forward ? kForwardTapsPerBlock : kBackwardTapsPerBlock;
  const int64_t wanted_blocks = std::max<int64_t>(1, table.size() / rows / wanted);
  const int64_t narrow = divide_up(streams, wanted_blocks);
  const int64_t panel =
      std::clamp(round_down(budget / narrow, 2 * machine.isa.lanes), kMinPanel, kMaxPanel);
  const int64_t fitting = std::max<int64_t>(1, budget / panel);
  const int64_t blocks = divide_up(streams, fitting);
  return {.panel = panel, .block_streams = divide_up(streams, blocks)};
}

bool is_resident(const KernelRequest& request, const MachineModel& machine) {
  return request.length <= int64_t{kMaxResidentVectors} * machine.isa.lanes;
}

void plan_pitches(Plan& plan, const KernelRequest& request) {
  constexpr int64_t kLongestTail = 7;
  const int64_t packed = stream_pitch(plan.panel + (plan.tail ? kLongestTail : 0));
  const auto choose = [&](int64_t pitch) { return pitch == 0 ? packed : pitch; };
  plan.pitches.gathered = choose(request.pitches.gathered);
  plan.pitches.own = choose(request.pitches.own);
  plan.pitches.paired = choose(request.pitches.paired);
}

// Cuts the rows into ranges of about equal cost.
void plan_parts(Plan& plan, const TapTable& table) {
  const int64_t rows = table.rows();
  const int64_t cost = table.size() + kRowCostInTaps * rows;
  const int64_t parts =
      std::max<int64_t>(1, std::min({kMaxParts, rows, divide_up(cost, kMinTapsPerPart)}));
  plan.part_begin = {0};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t done = table.row_begin[row] + kRowCostInTaps * row;
    const auto begun = static_cast<int64_t>(plan.part_begin.size());
    if (row > plan.part_begin.back() && done >= begun * cost / parts) {
      plan.part_begin.push_back(row);
    }
  }
  plan.part_begin.push_back(rows);
}

// Sizes of the emitted pieces, in bytes (plan_test checks the sum against the emitter).
int64_t estimate_row_bytes(const Plan& plan, int64_t taps) {
  const int64_t vectors = plan.vectors;
  const bool forward = plan.pass == Pass::forward;
  if (plan.family == KernelFamily::resident) {
    const int64_t dx = plan.want_own ? 5 : 0;
    if (forward) return taps * (9 + 9 * vectors) + 13 * vectors + 9;
    return taps * (9 + (14 + dx) * vectors + 14) + 22 * vectors + 20;
  }
  const int64_t groups = std::max<int64_t>(1, divide_up(taps, plan.taps_per_group));
  const int64_t tail_tap = plan.tail ? (forward ? 10 : plan.want_own ? 20 : 15) : 0;
  const int64_t tail_group = plan.tail ? (forward ? 24 : 48) : 0;
  if (forward) return taps * (18 + tail_tap) + groups * (52 + tail_group);
  const int64_t tap = plan.want_own ? 38 : 18;
  return taps * (tap + tail_tap) + groups * ((plan.want_own ? 110 : 70) + tail_group);
}

void plan_chunks(Plan& plan, const TapTable& table) {
  constexpr int64_t kChunkOverhead = 32 + 64;  // alignment, entry and return
  for (int32_t block = 0; block < plan.blocks; ++block) {
    for (int32_t part = 0; part < plan.parts(); ++part) {
      Chunk chunk{.part = part, .block = block};
      for (int64_t row = plan.part_begin[part]; row < plan.part_begin[part + 1]; ++row) {
        const TapRange range = block_range(table, plan, row, block);
        chunk.taps += range.end - range.begin;
        if (range.end > range.begin || block == 0) {
          plan.code_bytes_estimate += estimate_row_bytes(plan, range.end - range.begin);
        }
      }
      plan.code_bytes_estimate += kChunkOverhead;
      plan.chunks.push_back(chunk);
    }
  }
}

void plan_resident(Plan& plan, const KernelRequest& request, const TapTable& table,
                   const MachineModel& machine) {
  plan.vectors = static_cast<int>(divide_up(request.length, machine.isa.lanes));
  plan.panel = request.length;
  plan.block_streams = std::max<int64_t>(1, table.streams);
  if (request.pass == Pass::forward) {
    plan.rows_per_group = resident_rows(machine.isa, plan.vectors);
  } else {
    plan.taps_per_group = kBackwardResidentTaps;
  }
}

void plan_stream(Plan& plan, const KernelRequest& request, const TapTable& table,
                 const MachineModel& machine) {
  plan.vectors = 1;
  const PanelAndBlock chosen = plan_panel(table, request.pass, machine);
  plan.panel = chosen.panel;
  plan.block_streams = chosen.block_streams;
  plan.blocks =
      static_cast<int32_t>(std::max<int64_t>(1, divide_up(table.streams, plan.block_streams)));
  if (request.pass == Pass::forward) {
    plan.taps_per_group = kForwardStreamTaps;
  } else {
    plan.taps_per_group = request.want_own ? kBackwardStreamTaps : kBackwardStreamTapsWithoutOwn;
    plan.packed_values = round_down(request.length, machine.isa.lanes) > plan.panel;
  }
}

}  // namespace

TapRange block_range(const TapTable& table, const Plan& plan, int64_t row, int32_t block) {
  const auto begin = table.taps.begin() + table.row_begin[row];
  const auto end = table.taps.begin() + table.row_begin[row + 1];
  if (plan.blocks == 1) return {table.row_begin[row], table.row_begin[row + 1]};
  const auto below = [](const Tap& tap, int64_t stream) { return tap.stream < stream; };
  const auto first = std::lower_bound(begin, end, block * plan.block_streams, below);
  const auto last = std::lower_bound(first, end, (block + 1) * plan.block_streams, below);
  return {first - table.taps.begin(), last - table.taps.begin()};
}

int64_t stream_pitch(int64_t length) {
  constexpr int64_t kLine = 16;  // floats
  int64_t pitch = std::max<int64_t>(1, divide_up(length, kLine)) * kLine;
  if (pitch % 256 == 0) pitch += kLine;
  return pitch;
}

// Stream kernels loop over any length: only whether there is a tail and, backward, whether one
// panel covers it make a difference.
KernelRequest canonical_request(const TapTable& table, const KernelRequest& request,
                                const MachineModel& machine) {
  if (is_resident(request, machine)) return request;
  const int64_t lanes = machine.isa.lanes;
  const int64_t panel = plan_panel(table, request.pass, machine).panel;
  const bool several = request.pass == Pass::backward && round_down(request.length, lanes) > panel;
  KernelRequest canonical = request;
  canonical.length = several ? panel + lanes : (kMaxResidentVectors + 1) * lanes;
  if (request.length % lanes != 0) ++canonical.length;
  return canonical;
}

Plan plan_kernel(const TapTable& table, const KernelRequest& request, const MachineModel& machine) {
  SPARSEJIT_CHECK(request.length, >=, machine.isa.lanes);
  Plan plan;
  plan.pass = request.pass;
  plan.want_own = request.pass == Pass::forward || request.want_own;
  plan.tail = request.length % machine.isa.lanes != 0;
  plan.family = is_resident(request, machine) ? KernelFamily::resident : KernelFamily::stream;
  if (plan.family == KernelFamily::resident) {
    plan_resident(plan, request, table, machine);
  } else {
    plan_stream(plan, request, table, machine);
  }
  plan_pitches(plan, request);
  plan_parts(plan, table);
  plan_chunks(plan, table);
  return plan;
}

}  // namespace sparsejit
