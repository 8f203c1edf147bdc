// Disassembly of generated code: bytes and notes in, one plain struct an instruction out.
//
//     c4 e2 7d 18 97 44 00 00 00    vbroadcastss ymm2, dword ptr [rdi+0x44]    note: value, row 3
//
// A note (see emit.h) belongs to the instruction that contains the displacement it points at; x86
// instructions have at most one displacement, so an instruction has at most one note. Addresses
// are byte offsets into the code: branch targets print as the offset column of a listing.
//
// Bytes that do not decode become one-byte instructions named "(bad)"; decoding never fails and
// never reads outside the range. Independent of printing: golden tests and `inspect` share it.
// Pure, thread-safe. The only file that sees Zydis.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sparsejit/emit.h"

namespace sparsejit::frontend {

inline constexpr std::string_view kBadMnemonic = "(bad)";

struct Instruction {
  int64_t at = 0;  // byte offset in KernelCode::bytes
  int size = 0;
  int displacement_bytes = 0;  // 0, 1 or 4; 0 for nops, whose operand is padding
  int64_t displacement = 0;
  std::string_view mnemonic;             // static text
  std::optional<int64_t> branch_target;  // offset, of direct branches
  std::optional<CodeNote> note;
  // Below: only with InstructionText::intel.
  std::string text;          // Intel syntax
  int access_bytes = 0;      // read or written in memory; 0 for lea
  std::string_view base;     // base register of the memory operand, empty without one
  std::string_view pointer;  // 64-bit general register that comes first, empty without one
  // Vector registers in operand order, the destination first; -1: another kind of operand.
  std::array<int, 3> registers{-1, -1, -1};

  int64_t end() const { return at + size; }
  bool bad() const { return mnemonic == kBadMnemonic; }
  bool nop() const { return mnemonic == "nop"; }
};

// Bytes [begin, end) of a KernelCode; `begin` is the start of an instruction.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

// The code of a chunk, without the table behind it.
ByteRange chunk_range(const KernelCode& code, int64_t chunk);

// Text triples the time (320 instead of 115 ns an instruction on Zen 4): statistics over megabytes
// of code go without.
enum class InstructionText { none, intel };

// A word of the table behind the code of a chunk.
struct TableWord {
  int64_t at = 0;  // byte offset in KernelCode::bytes
  int32_t word = 0;
  std::optional<CodeNote> note;
};

// Empty where the family has no tables.
std::vector<TableWord> table_words(const KernelCode& code, int64_t chunk);

std::vector<Instruction> disassemble(const KernelCode& code, ByteRange range,
                                     InstructionText text = InstructionText::intel);

}  // namespace sparsejit::frontend
