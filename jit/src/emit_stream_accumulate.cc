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
// With a tail, the last vector of the panel, at [... + r10 + ...], is computed before the loop in
// ymm14, which carries it from group to group, and stored after it. Where it overlaps the loop both
// compute the same bits. (One body entered twice is less code but two more branches a group; it was
// no faster on long streams, bench/README.md, and short ones would feel the branches more.)
//
// With ReLU the last group of a row ends each vector with vmaxps ymm15, ymm12, ymm15, where ymm12
// holds zeros; in this order of the sources a NaN stays.
//
// One accumulator suffices: iterations are independent and the processor overlaps several. The
// order of the sum is bias, then taps in table order, whatever the grouping.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Ymm;

const Ymm kZero(12);  // with ReLU; else it holds a value
const Ymm kBiasVector(13);
const Ymm kTailAccumulator(14);
const Ymm kAccumulator(15);

// All taps of one vector; `index` is the loop's or the tail's.
void emit_taps(StencilBuilder& builder, const Xbyak::Reg64& index, const Ymm& sum, int taps) {
  for (int i = 0; i < taps; ++i) {
    builder.as().vfmadd231ps(sum, Ymm(i), builder.slot(kGathered + index));
  }
}

void emit_tail(StencilBuilder& builder, int taps, OwnState own) {
  if (own == OwnState::untouched) builder.as().vmovaps(kTailAccumulator, kBiasVector);
  if (own == OwnState::earlier_block) {
    builder.as().vmovups(kTailAccumulator, builder.slot(kOwn + kTail));
  }
  emit_taps(builder, kTail, kTailAccumulator, taps);
}

Stencil make_group(int taps, OwnState own, bool tail, bool relu) {
  StencilBuilder builder;
  auto& as = builder.as();
  const auto finish_sum = [&](const Ymm& sum) {
    if (relu) as.vmaxps(sum, kZero, sum);
  };
  const bool first = own == OwnState::untouched;
  for (int i = 0; i < taps; ++i) as.vbroadcastss(Ymm(i), builder.slot(kValues));
  if (first) as.vbroadcastss(kBiasVector, builder.slot(kBias));
  if (relu) as.vxorps(kZero, kZero, kZero);
  if (tail) {
    emit_tail(builder, taps, own);
    finish_sum(kTailAccumulator);
  }
  emit_stream_loop(as, [&] {
    if (first) {
      as.vmovaps(kAccumulator, kBiasVector);
    } else {
      as.vmovups(kAccumulator, builder.slot(kOwn + kIndex));
    }
    emit_taps(builder, kIndex, kAccumulator, taps);
    finish_sum(kAccumulator);
    as.vmovups(builder.slot(kOwn + kIndex), kAccumulator);
  });
  if (tail) as.vmovups(builder.slot(kOwn + kTail), kTailAccumulator);
  return builder.finish();
}

class StreamAccumulateEmitter {
 public:
  StreamAccumulateEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        operands_(table, plan),
        groups_(size_t{2} * kOwnStates * (plan.taps_per_group + 1)) {}

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    operands_.begin_chunk(chunk);
    for (int64_t row = plan_.part_begin[chunk.part]; row < plan_.part_begin[chunk.part + 1];
         ++row) {
      const TapRange taps = block_range(table_, plan_, row, chunk.block);
      if (skips_row(plan_, taps, chunk.block)) continue;
      for_each_group(taps, plan_.taps_per_group, [&](int64_t at, int count, bool first) {
        const bool last = at + count == taps.end && chunk.block + 1 == plan_.blocks;
        emit_group(writer, row, at, count, own_state(chunk, first), last);
      });
    }
  }

 private:
  void emit_group(CodeWriter& writer, int64_t row, int64_t at, int count, OwnState own, bool last) {
    const bool first = own == OwnState::untouched;
    operands_.clear();
    for (int i = 0; i < count; ++i) operands_.value(row, at + i);
    if (first) operands_.bias(row);
    if (plan_.tail) {
      if (own == OwnState::earlier_block) operands_.own(row);
      for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
    }
    if (!first) operands_.own(row);
    for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
    operands_.own(row);
    if (plan_.tail) operands_.own(row);
    const bool relu = last && plan_.relu;
    Stencil& group = groups_[2 * (kOwnStates * count + static_cast<int>(own)) + (relu ? 1 : 0)];
    if (group.bytes.empty()) group = make_group(count, own, plan_.tail, relu);
    writer.stamp(group, operands_.list());
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  // By 2 * (kOwnStates * tap count + state) + ReLU; made on first use, as small kernels need few.
  std::vector<Stencil> groups_;
};

}  // namespace

ChunkEmitter make_stream_accumulate_emitter(const TapTable& table, const Plan& plan) {
  return StreamAccumulateEmitter(table, plan);
}

}  // namespace sparsejit
