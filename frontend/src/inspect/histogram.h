// What generated code consists of: instructions by mnemonic and by size of their displacement.
//
// The displacement decides the size of most instructions: vfmadd231ps takes 6 bytes with an 8-bit
// and 9 with a 32-bit displacement. Bytes that do not decode are counted apart; a correct kernel
// has none. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/emit.h"

namespace sparsejit::frontend {

struct InstructionCount {
  std::string name;
  int64_t count = 0;
  int64_t bytes = 0;
};

struct Histogram {
  std::vector<InstructionCount> mnemonics;        // most frequent first, then by name
  std::array<InstructionCount, 3> displacements;  // none, disp8, disp32
  int64_t instructions = 0;
  int64_t bytes = 0;
  int64_t bad = 0;
};

Histogram count_instructions(const KernelCode& code);

}  // namespace sparsejit::frontend
