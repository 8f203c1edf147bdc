// Where the code of one row is. Rows are not functions: their code lies side by side in a chunk,
// once in every block that holds taps of the row, and is found through the notes.
//
//     vxorps ymm1, ymm1, ymm1                    no note, leads up to row 3
//     vbroadcastss ymm2, [rdx+0xa8]              first note of row 3
//     loop: vmovups ymm0, [rsi+rax+0xc000]       ...
//     vmovups [rsi+rax+0xc000], ymm0             last note of row 3
//     add rax, 0x20
//     jnz loop                                   closes a loop of row 3: still part of it
//     nop
//
// In the table family all rows of a chunk share its code, and have words in its table.
//
// Rows that are interleaved have overlapping ranges, from first to last note. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inspect/disassembly.h"
#include "sparsejit/emit.h"

namespace sparsejit::frontend {

struct RowCode {
  int64_t chunk = 0;
  int64_t taps = 0;  // of this row in this chunk
  ByteRange range;
};

// The words of the chunk's table that serve `row`, or of all rows.
std::vector<TableWord> find_table_words(const KernelCode& code, int64_t chunk,
                                        std::optional<int64_t> row);

// In execution order; empty when nothing is generated for the row. `code` was emitted with notes.
std::vector<RowCode> find_row_code(const KernelCode& code, const Plan& plan, int64_t row);

}  // namespace sparsejit::frontend
