// Stencils: short runs of machine code assembled once and stamped many times.
//
// Assembling through an API costs 170-800 ns per tap, copying a stencil and patching its
// displacements 4-26 ns. Every memory operand that differs from stamp to stamp is a *slot*: it is
// assembled with a 4-byte placeholder displacement, whose position the stencil remembers.
//
//     builder.as().vbroadcastss(ymm0, builder.slot(rdx));   c4 e2 7d 18 82 [placeholder 0]
//     writer.stamp(stencil, {{offset}});                    c4 e2 7d 18 82 [offset]
//
// Slots are numbered in the order they were asked for; stamp takes one operand for each.
#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sparsejit/emit.h"

namespace sparsejit {

struct Stencil {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> slots;  // byte offset of each slot's displacement
};

class StencilBuilder {
 public:
  Xbyak::CodeGenerator& as() { return generator_; }
  // [base + displacement to be patched]; use each returned address in exactly one instruction.
  Xbyak::Address slot(const Xbyak::RegExp& base);
  // The same, of a float that the instruction broadcasts (AVX-512).
  Xbyak::Address broadcast_slot(const Xbyak::RegExp& base);
  // jg with a distance to be patched, counted from the end of the instruction.
  void jump_if_greater();
  // [rip + displacement to be patched] to what lies behind the code of the chunk.
  Xbyak::Address data_slot();
  // Loops are not aligned: the padding was 3% of the code, and code bytes are what costs.
  Stencil finish() const;

 private:
  static constexpr size_t kCapacity = 4096;
  std::array<uint8_t, kCapacity> buffer_;  // plain data memory, never executable
  Xbyak::CodeGenerator generator_{kCapacity, buffer_.data()};
  int slots_ = 0;
};

// What goes into one slot. The offset is in bytes.
struct SlotOperand {
  int64_t offset = 0;
  NoteKind kind = NoteKind::value;
  int32_t row = 0;
  int64_t tap = -1;
};

// What lies behind the code of a chunk: 4-byte words, some of which say where something is.
class ChunkData {
 public:
  static constexpr int64_t kWordBytes = 4;

  void clear() { words_.clear(); }
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  void add(int64_t word) { words_.push_back({.offset = word, .tap = kPlain}); }
  void add(const SlotOperand& operand) { words_.push_back(operand); }
  void set(int64_t at, int64_t word) { words_[static_cast<size_t>(at)].offset = word; }
  std::span<const SlotOperand> words() const { return words_; }
  static bool has_note(const SlotOperand& word) { return word.tap != kPlain; }

 private:
  static constexpr int64_t kPlain = -2;

  std::vector<SlotOperand> words_;
};

// Grows the code of one kernel.
class CodeWriter {
 public:
  CodeWriter(KernelCode& code, const EmitOptions& options) : code_(code), options_(options) {}

  void begin_chunk();  // aligned to a cache line
  void end_chunk();
  void end_chunks() { begin_chunk(); }  // where another would begin
  void stamp(const Stencil& stencil, std::span<const SlotOperand> operands);
  // All slots are data_slot()s, of instructions that end with their displacement, and reach the
  // first word. The data goes behind the code when the chunk ends; the caller keeps it until then.
  void stamp_with_data(const Stencil& stencil, const ChunkData& data);
  // Bytes written so far.
  int64_t position() const { return static_cast<int64_t>(code_.bytes.size()); }
  // False once an offset did not fit 31 bits; the code is then unusable.
  bool fits() const { return fits_; }
  int64_t bad_offset() const { return bad_offset_; }

 private:
  void align();
  // Overwrites four bytes, and notes them.
  void put(int64_t at, const SlotOperand& operand, bool note);

  KernelCode& code_;
  const EmitOptions options_;
  const ChunkData* data_ = nullptr;
  std::vector<int64_t> data_slots_;  // positions of displacements that reach the data
  bool fits_ = true;
  int64_t bad_offset_ = 0;
};

}  // namespace sparsejit
