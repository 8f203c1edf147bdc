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

// Grows the code of one kernel.
class CodeWriter {
 public:
  CodeWriter(KernelCode& code, const EmitOptions& options) : code_(code), options_(options) {}

  void begin_chunk();                   // aligned to a cache line
  void end_chunks() { begin_chunk(); }  // where another would begin
  void stamp(const Stencil& stencil, std::span<const SlotOperand> operands);
  // Bytes written so far.
  int64_t position() const { return static_cast<int64_t>(code_.bytes.size()); }
  // False once an offset did not fit 31 bits; the code is then unusable.
  bool fits() const { return fits_; }
  int64_t bad_offset() const { return bad_offset_; }

 private:
  KernelCode& code_;
  const EmitOptions options_;
  bool fits_ = true;
  int64_t bad_offset_ = 0;
};

}  // namespace sparsejit
