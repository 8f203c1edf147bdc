// emit_kernel: Plan -> machine code bytes. Pure: no executable memory, no global state.
//
// The code is position independent. Every chunk is a function `void(const KernelArguments*)` in the
// System V convention; it uses only caller-saved registers, no stack, ends with vzeroupper and
// ret, and touches exactly the floats the plan describes. Chunks of the table and the strip
// family end with the table they read, which is data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sparsejit/plan.h"

namespace sparsejit {

// Pointers at the start of a panel. See taps.h for gathered, own and paired.
struct KernelArguments {
  const float* gathered = nullptr;
  float* own = nullptr;           // unused by products
  const float* paired = nullptr;  // unused by accumulate
  // In the plan's order, from the chunk's value_base on. Tiled family: of the part's other values
  // up to three may be read.
  const float* values = nullptr;
  // Accumulate: const float* start, one a row (the bias, or zeros). Else: float* d_values, in the
  // plan's order, from the chunk's value_base on; added to where the plan has packed_values,
  // overwritten otherwise.
  const void* start_or_d_values = nullptr;
  // Stream family: bytes of the panel that the loop covers, a positive multiple of 32; tiled
  // family: of 64; strip family: of the strip, of 128.
  int64_t loop_bytes = 0;
  // With a tail: byte offset of the last vector of the panel from where the loop ends (-28 to 0;
  // it overlaps the loop unless 0), and eight lanes: -1 where it does not overlap, else 0.
  int64_t tail_offset = 0;
  const int32_t* tail_mask = nullptr;
  // Tiled family with several blocks, or with own_in_tiles, then also the result: sums between
  // blocks, [tile][most_rows of the plan][16].
  // `gathered` then is the first tile of the block, [tile][block_streams][16].
  float* partial = nullptr;
};

using ChunkEntry = void (*)(const KernelArguments*);

// What one displacement in the code refers to; kept when EmitOptions::notes is set. Loop: the jump
// back of a tiled chunk.
enum class NoteKind : uint8_t {
  value,
  bias,
  gathered,
  own,
  paired,
  d_value,
  partial,
  prefetch,
  loop
};

const char* to_text(NoteKind kind);

struct CodeNote {
  // Byte offset in KernelCode::bytes of the 4-byte displacement, or of the word of a table.
  int64_t at = 0;
  NoteKind kind = NoteKind::value;
  int32_t row = 0;   // -1: of no row
  int64_t tap = -1;  // position in the table, -1 when the displacement serves the whole row
};

struct KernelCode {
  std::vector<uint8_t> bytes;
  // chunks+1 offsets into bytes, in the plan's chunk order; multiples of 64.
  std::vector<int64_t> chunk_begin;
  // Where the code of each chunk ends. Its table, if it has one, begins at the next multiple of 64.
  std::vector<int64_t> code_end;
  std::vector<CodeNote> notes;  // ascending by `at`
};

struct EmitOptions {
  bool notes = false;
  // One for each chunk of the plan: whether to emit it. The others are empty. Null: all.
  const std::vector<bool>* only = nullptr;
};

// Empty result with a reason when the plan cannot be encoded (a displacement beyond 31 bits).
struct EmitResult {
  std::optional<KernelCode> code;
  std::string reason;
};

EmitResult emit_kernel(const TapTable& table, const Plan& plan, const EmitOptions& options = {});

}  // namespace sparsejit
