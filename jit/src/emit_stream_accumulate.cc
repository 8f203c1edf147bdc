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
//     jl L
//
// With a tail, the last vector of the panel goes through the same body once more. What it held
// before this group was saved in ymm14, so where it overlaps the loop it computes the same bits.
//
// One accumulator suffices: iterations are independent and the processor overlaps several. The
// order of the sum is bias, then taps in table order, whatever the grouping.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Ymm;

const Ymm kBiasVector(13);
const Ymm kSavedTail(14);
const Ymm kAccumulator(15);

Stencil make_group(int taps, bool first, bool tail) {
  StencilBuilder builder;
  auto& as = builder.as();
  for (int i = 0; i < taps; ++i) as.vbroadcastss(Ymm(i), builder.slot(kValues));
  if (first) as.vbroadcastss(kBiasVector, builder.slot(kBias));
  if (tail && !first) as.vmovups(kSavedTail, builder.slot(kOwn + kTail));
  StreamLoop loop;
  loop.begin = [&] {
    if (first) {
      as.vmovaps(kAccumulator, kBiasVector);
    } else {
      as.vmovups(kAccumulator, builder.slot(kOwn + kIndex));
    }
  };
  loop.body = [&] {
    for (int i = 0; i < taps; ++i) {
      as.vfmadd231ps(kAccumulator, Ymm(i), builder.slot(kGathered + kIndex));
    }
    as.vmovups(builder.slot(kOwn + kIndex), kAccumulator);
  };
  loop.begin_tail = [&] { as.vmovaps(kAccumulator, first ? kBiasVector : kSavedTail); };
  emit_stream_loop(as, tail, loop);
  return builder.finish();
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
    if (!first && plan_.tail) operands_.own(row);
    if (!first) operands_.own(row);
    for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
    operands_.own(row);
    writer.stamp(first ? first_[count] : next_[count], operands_.list());
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
