// See stencil.h. Placeholders are found by searching the finished bytes for their patterns in
// order, which keeps instruction encoding entirely Xbyak's business.
#include "stencil.h"

#include <cstring>
#include <limits>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr uint8_t kTrap = 0xCC;  // int3 between chunks: running into it is caught

int32_t placeholder(int slot) { return 0x5E1B0000 + slot; }

}  // namespace

Xbyak::Address StencilBuilder::slot(const Xbyak::RegExp& base) {
  return generator_.ptr[base + static_cast<size_t>(placeholder(slots_++))];
}

Xbyak::Address StencilBuilder::broadcast_slot(const Xbyak::RegExp& base) {
  return generator_.ptr_b[base + static_cast<size_t>(placeholder(slots_++))];
}

void StencilBuilder::jump_if_greater() {
  Xbyak::Label anywhere;
  generator_.L(anywhere);
  generator_.jg(anywhere, Xbyak::CodeGenerator::T_NEAR);
  const size_t distance = generator_.getSize() - sizeof(int32_t);
  generator_.rewrite(distance, static_cast<uint64_t>(placeholder(slots_++)), sizeof(int32_t));
}

Stencil StencilBuilder::finish() const {
  Stencil stencil;
  stencil.bytes.assign(generator_.getCode(), generator_.getCode() + generator_.getSize());
  size_t at = 0;
  for (int slot = 0; slot < slots_; ++slot) {
    const int32_t wanted = placeholder(slot);
    while (at + sizeof(wanted) <= stencil.bytes.size() &&
           std::memcmp(&stencil.bytes[at], &wanted, sizeof(wanted)) != 0) {
      ++at;
    }
    SPARSEJIT_CHECK(at + sizeof(wanted), <=, stencil.bytes.size());
    stencil.slots.push_back(static_cast<uint32_t>(at));
    at += sizeof(wanted);
  }
  return stencil;
}

void CodeWriter::begin_chunk() {
  const auto size = static_cast<int64_t>(code_.bytes.size());
  code_.bytes.resize((size + kCacheLine - 1) / kCacheLine * kCacheLine, kTrap);
  code_.chunk_begin.push_back(static_cast<int64_t>(code_.bytes.size()));
}

void CodeWriter::stamp(const Stencil& stencil, std::span<const SlotOperand> operands) {
  SPARSEJIT_CHECK(operands.size(), ==, stencil.slots.size());
  const size_t start = code_.bytes.size();
  code_.bytes.insert(code_.bytes.end(), stencil.bytes.begin(), stencil.bytes.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    const SlotOperand& operand = operands[i];
    const auto displacement = static_cast<int32_t>(operand.offset);
    if (displacement != operand.offset) {
      fits_ = false;
      bad_offset_ = operand.offset;
    }
    std::memcpy(&code_.bytes[start + stencil.slots[i]], &displacement, sizeof(displacement));
    if (options_.notes) {
      code_.notes.push_back({.at = static_cast<int64_t>(start + stencil.slots[i]),
                             .kind = operand.kind,
                             .row = operand.row,
                             .tap = operand.tap});
    }
  }
}

}  // namespace sparsejit
