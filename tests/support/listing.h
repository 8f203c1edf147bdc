// Generated code as text for golden files, with the weight each instruction serves.
//
//     chunk 0
//       0000  vbroadcastss ymm0, dword ptr [rdx]          value row 0 tap 0
#pragma once

#include <string>
#include <vector>

#include "inspect/disassembly.h"
#include "sparsejit/emit.h"

namespace sparsejit::test {

// Instructions of one chunk, up to and including its last return; padding is left out.
std::vector<frontend::Instruction> chunk_instructions(const KernelCode& code, int64_t chunk);

// All chunks. Notes appear where the code was emitted with them.
std::string listing(const KernelCode& code);

}  // namespace sparsejit::test
