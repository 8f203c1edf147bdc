// Plan: every decision about a kernel, as plain data, made by one pure function.
//
//     TapTable + KernelRequest + MachineModel  --plan_kernel-->  Plan  --emit_kernel-->  bytes
//
// Kernel families (jit/README.md shows the code of each):
//   stream    the loop over the stream is inside; the values of up to taps_per_group taps sit in
//             registers. For long streams; the stream is walked in panels so that the gathered
//             streams of one block stay in L2.
//   resident  short streams: all vectors of rows_per_group rows stay in registers while all
//             their taps execute; no loop. The stream length is part of the code.
//   tiled     accumulate without shifts (of convolutions: what each position of the kernel reads is
//             a stream, see unshift): gathered streams lie in tiles of 16 floats, a block's tile
//             fits L1 and is read several times by a chunk, whose code loops over the tiles; rows
//             are interleaved and share loads. What sums come to between blocks lies in a buffer.
//   table     short streams, too: a small piece of code, specialised to their length, that reads
//             where each tap gathers from a table behind it. For layers whose unrolled code would
//             be bound by its own bytes.
//   strip     fused and products, without shifts, long streams, AVX-512: all operands are packed in
//             strips of up to 128 floats (strips.h). Those of a block stay in L1 while every row
//             uses them, and a small piece of code reads a table, too.
//
// Three kinds of kernels serve the passes of a layer:
//   accumulate  own[row] = start + sum of value * gathered        forward; and dx alone
//   products    d_value = sum over t of paired[row] * gathered    d_values alone
//   fused       both at once, each gathered vector loaded once    backward
//
// A kernel is cut into *chunks*: `parts` (ranges of rows, disjoint, what threads share out,
// balanced by taps) times `blocks` (ranges of gathered streams, executed in order).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/machine.h"
#include "sparsejit/taps.h"

namespace sparsejit {

enum class Pass { forward, backward };
enum class KernelKind { accumulate, fused, products };
enum class KernelFamily { stream, resident, tiled, table, strip };

const char* to_text(Pass pass);
const char* to_text(KernelKind kind);
const char* to_text(KernelFamily family);

// The table's rows choose whose side is walked:
//
//     step of a layer         kind        table          gathered  own  paired
//     forward                 accumulate  lower_*        x         y    -
//     backward                fused       transpose      dy        dx   x
//     backward, dx alone      accumulate  transpose      dy        dx   -
//     backward, values alone  products    lower_*        x         -    dy
//       in strips             products    transpose      dy        -    x

// Distance in floats between consecutive streams of each operand. They become immediates.
struct Pitches {
  int64_t gathered = 0;
  int64_t own = 0;     // unused by products
  int64_t paired = 0;  // unused by accumulate
  bool operator==(const Pitches&) const = default;
};

struct KernelRequest {
  KernelKind kind = KernelKind::accumulate;
  int64_t length = 0;         // floats of a stream, at least one vector
  Pitches pitches{};          // 0: the operand is packed, the plan chooses its pitch
  bool interpreted = false;   // planned for intrinsics: short streams pay differently
  bool repeated = false;      // runs over several slabs of streams, whose sums add up
  bool relu = false;          // accumulate: own[row] = max(0, sum)
  bool tiled = false;         // the tiled family; see can_be_tiled
  bool own_in_tiles = false;  // tiled: the sums are left in tiles, where those between blocks were
  bool table = false;         // the table family; see can_use_table
  bool strips = false;        // the strip family; see gains_by_strips
  // Whether the kernel walks taps without shifts.
  bool unshifted() const { return tiled || strips; }
  bool operator==(const KernelRequest&) const = default;
};

struct Chunk {
  int32_t part = 0;
  int32_t block = 0;
  int64_t taps = 0;
  // The smallest value slot of its taps. Slots are counted from here, so that the code of a chunk
  // stays the same when weights come and go in rows before it.
  int64_t value_base = 0;
  bool operator==(const Chunk&) const = default;
};

struct Plan {
  KernelKind kind = KernelKind::accumulate;
  KernelFamily family = KernelFamily::stream;
  int lanes = 8;           // floats of a vector register; 16 takes AVX-512
  int vectors = 0;         // resident, table: vectors of one stream; tiled: of a tile; stream: 1;
                           // strip: of a round of its loop
  int taps_per_group = 1;  // taps whose values (and accumulators) are held in registers
  int rows_per_group = 1;  // resident accumulate, tiled: rows interleaved so that they share loads
                           // table accumulate: so that they do not wait for their own sums
  // Several panels: values are read, and their gradients added to, in an order of the plan's own,
  // see packed_order. One panel: by value index, and gradients are stored once.
  bool packed_values = false;
  bool relu = false;          // accumulate: own[row] = max(0, sum), NaN stays NaN
  bool own_in_tiles = false;  // tiled: nothing is written to `own`; see KernelArguments::partial
  // Table: whether the table names the value of each tap, as those of a row do not lie side by side
  // in memory.
  bool names_values = false;
  // Table, accumulate: cache lines of the values of each row that are prefetched some rows ahead,
  // as rows are not in the order of memory; fused: how many taps ahead values are. 0: not at all.
  int prefetch = 0;
  // The stream is no multiple of the lanes: its last vector is handled apart, overlapping the one
  // before it, so that no access leaves the stream.
  bool tail = false;
  // Floats of the stream a call covers: stream and tiled family at most (and up to 7 more), strip
  // family at most, resident and table family exactly.
  int64_t panel = 0;
  Pitches pitches;  // complete: none is 0, except unused ones; tiled: gathered is a tile's
  int64_t block_streams = 0;  // gathered streams of one block
  int32_t blocks = 1;
  std::vector<int64_t> part_begin;  // parts+1 row numbers
  std::vector<int64_t> part_taps;   // taps in the rows before each of these
  std::vector<Chunk> chunks;        // block-major: all parts of block 0, then of block 1, ...
  int64_t code_bytes_estimate = 0;

  int32_t parts() const { return static_cast<int32_t>(part_begin.size()) - 1; }
  int64_t most_rows() const;  // of any part
  // Whether the kernel walks taps without shifts.
  bool unshifted() const { return family == KernelFamily::tiled || family == KernelFamily::strip; }
  bool operator==(const Plan&) const = default;
};

// Tiled family: floats of each stream in a tile. Tiles of a panel of `length` floats: all whole
// ones, and one that ends where the panel ends if there is a rest.
inline constexpr int64_t kTileFloats = 16;
inline int64_t tiles_of(int64_t length) { return (length + kTileFloats - 1) / kTileFloats; }

// Whether a plan of the tiled family can be asked for: it accumulates without shifts, and streams
// are a tile or more.
bool can_be_tiled(const TapTable& table, const KernelRequest& request);

// Whether a plan of the table family can be asked for: streams are short, and each sum of a value
// is made in one call.
bool can_use_table(const KernelRequest& request, const MachineModel& machine);

// What the backward pass of a layer walks over.
struct StripWork {
  int64_t taps = 0;
  int64_t rows = 0;     // own streams
  int64_t streams = 0;  // gathered, without shifts
  int64_t floats = 0;   // of a stream
};

// Whether kernels of the backward pass are to have their operands in strips. Sums of gradients are
// cut there, so what this says decides on their last bits: all engines follow it, and no clock has
// a say. True where AVX-512 may be used, streams are long, and a strip in L1 is used several times.
bool gains_by_strips(const StripWork& work, const MachineModel& machine);

// Resident and tiled family with AVX-512, one vector: values are memory operands of the
// multiply-adds, broadcast by the instruction, and sources are in registers.
bool embeds_values(const Plan& plan);

// Positions [begin, end) in TapTable::taps.
struct TapRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// The taps of one row that gather from one block of the plan.
TapRange block_range(const TapTable& table, const Plan& plan, int64_t row, int32_t block);

// Accumulate, stream and table family: a row without taps in `block` is left as it is, unless the
// block is the first, which starts the sum, or the last and there is a ReLU to apply.
bool skips_row(const Plan& plan, TapRange taps, int32_t block);

// Longest stream the resident family of any engine takes, in vectors of eight floats.
inline constexpr int kMaxResidentVectors = 8;

// Floats of the longest stream for which generated code that accumulates is resident.
int64_t longest_resident(const MachineModel& machine);

// Requests for which the same plan, and so the same code, serves become equal.
KernelRequest canonical_request(const KernelRequest& request, const MachineModel& machine);

// Strip family: taps of one row in one block, at most as many as a group has.
struct TapGroup {
  int64_t row = 0;
  TapRange taps;

  int64_t count() const { return taps.end - taps.begin; }
};

// The groups of a chunk as its kernel walks them: largest first, so that loops over groups of a
// size follow each other. As those of a row shrink from the first on, its sums stay in order.
std::vector<TapGroup> strip_groups(const TapTable& table, const Plan& plan, const Chunk& chunk);

// Plans with packed_values: the value index of each value in the plan's order. That is the order in
// which the kernel walks strips, chunk by chunk, and the table's of other families.
std::vector<int32_t> packed_order(const TapTable& table, const Plan& plan);

// Where the value of a tap lies, in floats: its value index, or its position in the table. Not of
// the strip family, whose kernels have their values one after the other.
inline int64_t value_slot(const TapTable& table, const Plan& plan, int64_t tap) {
  return plan.packed_values ? tap : table.taps[tap].value;
}

// Pure. Depends on nothing but its arguments. With `previous`, a plan of the same layer for another
// mask, rows are cut into the same parts while these are about balanced.
Plan plan_kernel(const TapTable& table, const KernelRequest& request, const MachineModel& machine,
                 const Plan* previous = nullptr);

// A table and a plan of it.
struct PlannedTable {
  const TapTable& table;
  const Plan& plan;
};

// For each chunk of `now`, whether the same chunk of `before` has the same code.
std::vector<bool> same_chunks(const PlannedTable& before, const PlannedTable& now);

// Floats of the longest panel on this machine.
int64_t longest_panel(const MachineModel& machine);

// Pitch for a packed or freely chosen buffer of `length` floats: whole cache lines and no
// multiple of 1 KiB, which would map every stream to the same few L1 sets.
int64_t stream_pitch(int64_t length);

std::string to_text(const Plan& plan);

}  // namespace sparsejit
