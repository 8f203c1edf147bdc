// HeldNotes: follows a run of instructions and remembers what their registers hold, so that an
// instruction without a note of its own can be traced to one.
//
//     lea rax, [rdi+0x100]             note: gathered, tap 40      rax holds that address
//     vmovups ymm12, [rax+0x20]        an access of tap 40, at 0x120; ymm12 holds it
//     vfmadd231ps ymm3, ymm15, ymm12   a product with tap 40
//
// Straight-line code only: a loop body is followed once, in the order it is written.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "inspect/disassembly.h"
#include "sparsejit/emit.h"

namespace sparsejit::frontend {

// A memory access with its note, and its displacement from where the note's array begins.
struct Access {
  CodeNote note;
  int64_t displacement = 0;
  int bytes = 0;  // 0: only the address is taken
};

class HeldNotes {
 public:
  // Of an instruction that has a note or goes through a pointer that has one.
  std::optional<Access> access_of(const Instruction& instruction) const;

  // The note of kind `kind` that a source register of `instruction` was loaded from, else null.
  const CodeNote* find_source(const Instruction& instruction, NoteKind kind) const;

  // To be called with each instruction and its access, after the questions about it.
  void follow(const Instruction& instruction, const std::optional<Access>& access);

 private:
  std::array<std::optional<CodeNote>, 32> vectors_;
  std::map<std::string_view, Access> pointers_;  // by register name
};

}  // namespace sparsejit::frontend
