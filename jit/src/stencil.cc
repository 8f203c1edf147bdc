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

Xbyak::Address StencilBuilder::data_slot() {
  return generator_.ptr[Xbyak::util::rip + placeholder(slots_++)];
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

void CodeWriter::align() {
  const auto size = static_cast<int64_t>(code_.bytes.size());
  code_.bytes.resize((size + kCacheLine - 1) / kCacheLine * kCacheLine, kTrap);
}

void CodeWriter::begin_chunk() {
  align();
  code_.chunk_begin.push_back(position());
}

void CodeWriter::end_chunk() {
  code_.code_end.push_back(position());
  if (data_ == nullptr) return;
  align();
  const auto words = data_->words();
  const int64_t begin = position();
  for (const int64_t at : data_slots_) {
    put(at, {.offset = begin - at - ChunkData::kWordBytes}, false);
  }
  code_.bytes.resize(begin + data_->size() * ChunkData::kWordBytes);
  for (size_t i = 0; i < words.size(); ++i) {
    put(begin + static_cast<int64_t>(i) * ChunkData::kWordBytes, words[i],
        ChunkData::has_note(words[i]));
  }
  data_ = nullptr;
  data_slots_.clear();
}

void CodeWriter::stamp_with_data(const Stencil& stencil, const ChunkData& data) {
  const int64_t start = position();
  code_.bytes.insert(code_.bytes.end(), stencil.bytes.begin(), stencil.bytes.end());
  for (const uint32_t slot : stencil.slots) data_slots_.push_back(start + slot);
  data_ = &data;
}

void CodeWriter::put(int64_t at, const SlotOperand& operand, bool note) {
  const auto word = static_cast<int32_t>(operand.offset);
  if (word != operand.offset) {
    fits_ = false;
    bad_offset_ = operand.offset;
  }
  std::memcpy(&code_.bytes[at], &word, sizeof(word));
  if (!options_.notes || !note) return;
  code_.notes.push_back({.at = at, .kind = operand.kind, .row = operand.row, .tap = operand.tap});
}

void CodeWriter::stamp(const Stencil& stencil, std::span<const SlotOperand> operands) {
  SPARSEJIT_CHECK(operands.size(), ==, stencil.slots.size());
  const int64_t start = position();
  code_.bytes.insert(code_.bytes.end(), stencil.bytes.begin(), stencil.bytes.end());
  for (size_t i = 0; i < operands.size(); ++i) put(start + stencil.slots[i], operands[i], true);
}

}  // namespace sparsejit
