// Accumulate, stream family: forward, or dx alone. Read this emitter first: it is the simplest.
//
// One group of taps of one row; the loop runs over the panel. For two taps of the first group:
//
//     vbroadcastss ymm0, [rcx + value0]
//     vbroadcastss ymm1, [rcx + value1]
//     vbroadcastss ymm13, [r8 + bias]           later groups: none
//     mov rax, r9                               -bytes
//  L: vmovaps ymm15, ymm13                      later groups: vmovups ymm15, [rsi + rax + own]
//     vfmadd231ps ymm15, ymm0, [rdi + rax + gathered0]
//     vfmadd231ps ymm15, ymm1, [rdi + rax + gathered1]
//     vmovups [rsi + rax + own], ymm15
//     add rax, 32
//     jnz L
//
// With a tail, the last vector of the panel, at [rdi + r10 + ...], is computed before the loop into
// ymm14 and stored after it. Where it overlaps the loop both compute the same bits.
//
// One accumulator suffices: iterations are independent and the processor overlaps several. The
// order of the sum is bias, then taps in table order, whatever the grouping.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Ymm;

const Ymm kBiasVector(13);
const Ymm kTailAccumulator(14);
const Ymm kAccumulator(15);

// One vector: bias or own, plus all taps; `index` is the loop's or the tail's.
void emit_vector(StencilBuilder& builder, const Xbyak::Reg64& index, const Ymm& sum, int taps,
                 bool first) {
  auto& as = builder.as();
  if (first) {
    as.vmovaps(sum, kBiasVector);
  } else {
    as.vmovups(sum, builder.slot(kOwn + index));
  }
  for (int i = 0; i < taps; ++i) {
    as.vfmadd231ps(sum, Ymm(i), builder.slot(kGathered + index));
  }
}

Stencil make_group(int taps, bool first, bool tail) {
  StencilBuilder builder;
  auto& as = builder.as();
  for (int i = 0; i < taps; ++i) as.vbroadcastss(Ymm(i), builder.slot(kValues));
  if (first) as.vbroadcastss(kBiasVector, builder.slot(kBias));
  if (tail) emit_vector(builder, kTail, kTailAccumulator, taps, first);
  as.mov(kIndex, kBytes);
  as.align(16);
  Xbyak::Label loop;
  as.L(loop);
  emit_vector(builder, kIndex, kAccumulator, taps, first);
  as.vmovups(builder.slot(kOwn + kIndex), kAccumulator);
  as.add(kIndex, kVectorBytes);
  as.jnz(loop);
  if (tail) as.vmovups(builder.slot(kOwn + kTail), kTailAccumulator);
  return builder.finish(16);
}

class StreamAccumulateEmitter {
 public:
  StreamAccumulateEmitter(const TapTable& table, const Plan& plan)
      : table_(table), plan_(plan), operands_(table, plan) {
    for (int taps = 0; taps <= plan.taps_per_group; ++taps) {
      first_.push_back(make_group(taps, true, plan.tail));
      next_.push_back(make_group(taps, false, plan.tail));
    }
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    for (int64_t row = plan_.part_begin[chunk.part]; row < plan_.part_begin[chunk.part + 1];
         ++row) {
      const TapRange taps = block_range(table_, plan_, row, chunk.block);
      if (taps.begin == taps.end && chunk.block > 0) continue;
      for_each_group(taps, plan_.taps_per_group, [&](int64_t at, int count, bool first) {
        emit_group(writer, row, at, count, first && chunk.block == 0);
      });
    }
  }

 private:
  void emit_group(CodeWriter& writer, int64_t row, int64_t at, int count, bool first) {
    operands_.clear();
    for (int i = 0; i < count; ++i) operands_.value(row, at + i);
    if (first) operands_.bias(row);
    if (plan_.tail) add_vector(row, at, count, first);
    add_vector(row, at, count, first);
    operands_.own(row);
    if (plan_.tail) operands_.own(row);
    writer.stamp(first ? first_[count] : next_[count], operands_.list());
  }

  // The slots of emit_vector.
  void add_vector(int64_t row, int64_t at, int count, bool first) {
    if (!first) operands_.own(row);
    for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  std::vector<Stencil> first_;  // by tap count
  std::vector<Stencil> next_;
};

}  // namespace

ChunkEmitter make_stream_accumulate_emitter(const TapTable& table, const Plan& plan) {
  return StreamAccumulateEmitter(table, plan);
}

}  // namespace sparsejit
