// See held_notes.h. Any write to a register forgets what it held; only loads and lea give it
// something to hold. A sum in a register belongs to no single tap, so arithmetic leaves nothing.
#include "inspect/held_notes.h"

#include <cstdlib>

namespace sparsejit::frontend {
namespace {

bool is_load(const Instruction& instruction) {
  return instruction.mnemonic == "vbroadcastss" || instruction.mnemonic == "vbroadcastf128" ||
         instruction.mnemonic == "vmovups" || instruction.mnemonic == "vmaskmovps";
}

// Of `vpermilps ymm15, ymm10, 0x55`, which puts one lane into all: 1.
int selected_lane(const Instruction& instruction) {
  const size_t comma = instruction.text.rfind(',');
  return static_cast<int>(std::strtol(instruction.text.c_str() + comma + 1, nullptr, 16) & 3);
}

}  // namespace

std::optional<Access> HeldNotes::access_of(const Instruction& instruction) const {
  if (instruction.note) {
    return Access{*instruction.note, instruction.displacement, instruction.access_bytes};
  }
  const auto pointer = pointers_.find(instruction.base);
  if (pointer == pointers_.end()) return std::nullopt;
  return Access{pointer->second.note, pointer->second.displacement + instruction.displacement,
                instruction.access_bytes};
}

const CodeNote* HeldNotes::find_source(const Instruction& instruction, NoteKind kind) const {
  for (size_t i = 1; i < instruction.registers.size(); ++i) {
    const int source = instruction.registers[i];
    if (source < 0) continue;
    const std::optional<CodeNote>& note = vectors_[static_cast<size_t>(source)];
    if (note && note->kind == kind) return &*note;
  }
  return nullptr;
}

void HeldNotes::follow(const Instruction& instruction, const std::optional<Access>& access) {
  if (!instruction.pointer.empty()) {
    pointers_.erase(instruction.pointer);
    if (instruction.mnemonic == "lea" && access) pointers_[instruction.pointer] = *access;
  }
  if (instruction.registers[0] < 0) return;
  std::optional<CodeNote>& held = vectors_[static_cast<size_t>(instruction.registers[0])];
  if (instruction.mnemonic == "vpermilps" && instruction.registers[1] >= 0) {
    held = vectors_[static_cast<size_t>(instruction.registers[1])];
    if (held) held->tap += selected_lane(instruction);
    return;
  }
  held.reset();
  if (access && is_load(instruction)) held = access->note;
}

}  // namespace sparsejit::frontend
