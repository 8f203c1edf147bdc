// The emitters behind emit_kernel and what they share. The stream emitter of sums makes both
// fused and products kernels; a resident fused kernel does not exist (see jit/README.md).
//
// Each is a function object that builds its stencils on first use and emits one chunk at a time.
// Registers with a fixed role are named here and nowhere else. All are caller-saved in the System
// V convention, so kernels need no stack.
#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sparsejit/plan.h"
#include "stencil.h"

namespace sparsejit {

// Emits the code of one chunk, without entry and return.
using ChunkEmitter = std::function<void(CodeWriter&, const Chunk&)>;

ChunkEmitter make_stream_accumulate_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_stream_products_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_resident_accumulate_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_resident_products_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_strip_sums_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_table_accumulate_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_table_sums_emitter(const TapTable& table, const Plan& plan);
ChunkEmitter make_tiled_accumulate_emitter(const TapTable& table, const Plan& plan);

namespace registers {
inline const Xbyak::Reg64 kArguments = Xbyak::util::rdi;  // at the entry only
inline const Xbyak::Reg64 kGathered = Xbyak::util::rdi;
inline const Xbyak::Reg64 kOwn = Xbyak::util::rsi;
inline const Xbyak::Reg64 kPaired = Xbyak::util::rdx;
inline const Xbyak::Reg64 kPartial = Xbyak::util::rdx;  // tiled family
inline const Xbyak::Reg64 kValues = Xbyak::util::rcx;
inline const Xbyak::Reg64 kBias = Xbyak::util::r8;
inline const Xbyak::Reg64 kDValues = Xbyak::util::r8;
inline const Xbyak::Reg64 kBytes = Xbyak::util::r9;  // stream: negated, where the index starts
inline const Xbyak::Reg64 kTail = Xbyak::util::r10;
inline const Xbyak::Reg64 kTailMask = Xbyak::util::r11;  // points to the mask
inline const Xbyak::Reg64 kIndex = Xbyak::util::rax;     // stream family
// Table family, which needs neither tail nor bytes, and strip family.
inline const Xbyak::Reg64 kOffset = Xbyak::util::rax;  // of what is read next
inline const Xbyak::Reg64 kCount = Xbyak::util::r10;   // rounds of a loop
inline const Xbyak::Reg64 kTable = Xbyak::util::r11;   // moves on as the table is read
inline const Xbyak::Reg64 kSource = Xbyak::util::rax;  // resident family: one gathered stream
}  // namespace registers

inline constexpr int kVectorBytes = 32;  // of a vector of eight lanes
inline constexpr int kFloatBytes = 4;

// Of an operand, as Xbyak wants it.
inline size_t displacement(int bytes) { return static_cast<size_t>(bytes); }

// Vector registers of kernels whose lanes the plan chooses: ymm0 to ymm15 or zmm0 to zmm31.
inline Xbyak::Xmm vector_register(const Plan& plan, int index) {
  return {plan.lanes == 16 ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, index};
}
inline Xbyak::Xmm last_vector_register(const Plan& plan) {
  return vector_register(plan, plan.lanes == 16 ? 31 : 15);
}
// Zeros; EVEX has an instruction of its own.
void emit_zero(Xbyak::CodeGenerator& as, const Xbyak::Xmm& vector);

// Sums `count` (1 to 4) vectors from ymm`first` on across their lanes into the low lanes of `into`,
// always in the order
// ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)). Clobbers `scratch`. Unused result lanes repeat others.
//
//     vhaddps into, s0, s1      vhaddps scratch, s2, s3      vhaddps into, into, scratch
//     vextractf128 scratch, into, 1                          vaddps into, into, scratch
void emit_lane_sums(Xbyak::CodeGenerator& as, int first, int count, Xbyak::Ymm into,
                    Xbyak::Ymm scratch);

// Stores the low `count` lanes of `sums` through slots: `contiguous` as consecutive floats through
// one slot (two for three lanes), else through a slot each.
class StencilBuilder;
void emit_store_sums(StencilBuilder& builder, int count, Xbyak::Xmm sums, bool contiguous);

// Reading one gathered stream, vector by vector, in resident kernels. From three vectors on
// `lea rax, [rdi + slot]` once and short displacements after it are fewer bytes than a 4-byte
// displacement for each vector, and bytes are what bounds unrolled code.
class GatheredStream {
 public:
  explicit GatheredStream(const Plan& plan) : plan_(plan) {}

  // Slots that begin() and then `vectors` calls of vector() ask for.
  int slots() const { return uses_lea() ? 1 : plan_.vectors; }
  void begin(StencilBuilder& builder) const;
  Xbyak::Address vector(StencilBuilder& builder, int vector) const;

 private:
  bool uses_lea() const { return plan_.vectors >= 3; }

  const Plan& plan_;
};

// Byte offset of a vector in a stream of a resident plan, whose last one ends where the stream
// ends, or in a tile.
int64_t unrolled_vector_offset(const Plan& plan, int vector);

// Sums that begin with the bias of their row, in the plan's vectors from register `first` on.
//
//     vbroadcastss ymm0, [r8 + slot]      vmovaps ymm1, ymm0
Stencil make_biased_sums(const Plan& plan, int first);

// What the own stream of a row holds when a group of its taps begins: nothing yet, sums of earlier
// groups, or sums of an earlier block of the plan. It matters for the tail: after an earlier group
// its vector is still in a register, and reading back a store that has just crossed a cache line
// stalls.
enum class OwnState { untouched, earlier_group, earlier_block };
inline constexpr int kOwnStates = 3;

inline OwnState own_state(const Chunk& chunk, bool first_group) {
  if (!first_group) return OwnState::earlier_group;
  return chunk.block == 0 ? OwnState::untouched : OwnState::earlier_block;
}

// The loop of a stream kernel over the panel.
//
//     mov rax, r9                  -bytes
//  L: (body)
//     add rax, 32
//     jl L
void emit_stream_loop(Xbyak::CodeGenerator& as, const std::function<void()>& body);

// Operands of the slots, made from positions in the tables.
class Operands {
 public:
  Operands(const TapTable& table, const Plan& plan) : table_(table), plan_(plan) {}

  // Values are addressed from the chunk's base on, tiled streams from the block's first one.
  void begin_chunk(const Chunk& chunk);
  void clear() { list_.clear(); }
  std::span<const SlotOperand> list() const { return list_; }

  void value(int64_t row, int64_t tap) { add(value_offset(tap), NoteKind::value, row, tap); }
  void d_value(int64_t row, int64_t tap) { add(value_offset(tap), NoteKind::d_value, row, tap); }
  // The slots of emit_store_sums; `contiguous` is are_contiguous of the same taps.
  void stored_sums(int64_t row, int64_t tap, int count, bool contiguous);
  bool are_contiguous(int64_t tap, int count) const;
  // Tiled family: the sums of a row of the chunk's part.
  void partial(int64_t row, int vector) {
    const int64_t offset = (row - first_row_) * kTileFloats * kFloatBytes;
    add(offset + vector_offset(vector), NoteKind::partial, row, -1);
  }
  void prefetch(int64_t offset) { add(offset, NoteKind::prefetch, -1, -1); }
  void loop(int64_t distance) { add(distance, NoteKind::loop, -1, -1); }
  void bias(int64_t row) { add(row * kFloatBytes, NoteKind::bias, row, -1); }
  void gathered(int64_t row, int64_t tap, int vector = 0);
  void own(int64_t row, int vector = 0);
  void paired(int64_t row, int vector = 0);

 private:
  void add(int64_t offset, NoteKind kind, int64_t row, int64_t tap) {
    list_.push_back({offset, kind, static_cast<int32_t>(row), tap});
  }
  int64_t vector_offset(int vector) const {
    return plan_.family == KernelFamily::stream ? 0 : unrolled_vector_offset(plan_, vector);
  }
  int64_t value_offset(int64_t tap) const {
    return (value_slot(table_, plan_, tap) - value_base_) * kFloatBytes;
  }

  const TapTable& table_;
  const Plan& plan_;
  int64_t value_base_ = 0;
  int64_t first_stream_ = 0;
  int64_t first_row_ = 0;
  std::vector<SlotOperand> list_;
};

// Splits `taps` taps of one row into balanced groups of at most taps_per_group and calls
// emit(first tap, count, is first group). A row without taps gets one call with count 0.
template <typename Emit>
void for_each_group(TapRange taps, int taps_per_group, const Emit& emit) {
  int64_t at = taps.begin;
  bool first = true;
  do {
    const int64_t left = taps.end - at;
    const int64_t groups = std::max<int64_t>(1, (left + taps_per_group - 1) / taps_per_group);
    const int count = static_cast<int>((left + groups - 1) / groups);
    emit(at, count, first);
    at += count;
    first = false;
  } while (at < taps.end);
}

}  // namespace sparsejit
