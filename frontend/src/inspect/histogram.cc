// Counts chunk by chunk, so that memory stays small for megabytes of code. Instructions are decoded
// without text, a third of the work. The padding between chunks counts as what it is: int3.
#include "inspect/histogram.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "inspect/disassembly.h"

namespace sparsejit::frontend {
namespace {

void add(InstructionCount& count, const Instruction& instruction) {
  ++count.count;
  count.bytes += instruction.size;
}

size_t displacement_class(const Instruction& instruction) {
  if (instruction.displacement_bytes == 0) return 0;
  return instruction.displacement_bytes == 1 ? 1 : 2;
}

}  // namespace

Histogram count_instructions(const KernelCode& code) {
  Histogram histogram;
  histogram.displacements[0].name = "none";
  histogram.displacements[1].name = "disp8";
  histogram.displacements[2].name = "disp32";
  std::map<std::string_view, InstructionCount> by_mnemonic;
  const auto chunks = static_cast<int64_t>(code.chunk_begin.size()) - 1;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (const Instruction& instruction :
         disassemble(code, chunk_range(code, chunk), InstructionText::none)) {
      add(by_mnemonic[instruction.mnemonic], instruction);
      add(histogram.displacements[displacement_class(instruction)], instruction);
      ++histogram.instructions;
      histogram.bytes += instruction.size;
      if (instruction.bad()) ++histogram.bad;
    }
  }
  for (auto& [mnemonic, count] : by_mnemonic) {
    count.name = mnemonic;
    histogram.mnemonics.push_back(count);
  }
  std::stable_sort(
      histogram.mnemonics.begin(), histogram.mnemonics.end(),
      [](const InstructionCount& a, const InstructionCount& b) { return a.count > b.count; });
  return histogram;
}

}  // namespace sparsejit::frontend
