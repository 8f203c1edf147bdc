// Backward, stream family: one fused pass over the taps of each source row.
//
// One group of taps; every vector of dy feeds two FMAs. For two taps of the first group:
//
//     vbroadcastss ymm0, [rcx + value0]         held values
//     vbroadcastss ymm1, [rcx + value1]
//     vxorps ymm2, ymm2, ymm2                   sums of d_value0, d_value1
//     vxorps ymm3, ymm3, ymm3
//     mov rax, r9                               -bytes
//  L: vmovups ymm13, [rdx + rax + paired]       x
//     vxorps ymm14, ymm14, ymm14                later groups: vmovups ymm14, [rsi + rax + own]
//     vmovups ymm15, [rdi + rax + gathered0]    dy
//     vfmadd231ps ymm14, ymm0, ymm15            dx += value0 * dy
//     vfmadd231ps ymm2, ymm13, ymm15            d_value0 += x * dy
//     (the same for tap 1)
//     vmovups [rsi + rax + own], ymm14
//     add rax, 32
//     jnz L
//     (sum ymm2, ymm3 across lanes; add to [r8 + d_value])
//
// Without dx (want_own false) only the sums remain and dy is read by the FMA itself.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace backward_registers;
using Xbyak::Xmm;
using Xbyak::Ymm;

const Ymm kX(13);
const Ymm kDx(14);
const Ymm kDy(15);
const Ymm kScratch0(13);  // after the loop x, dx and dy are dead
const Ymm kScratch1(14);

// Adds the low `count` lanes of `sums` to consecutive floats; one slot for each access.
void emit_add_to_memory(StencilBuilder& builder, int count, Xmm sums, Xmm scratch) {
  auto& as = builder.as();
  if (count == 4) {
    as.vaddps(sums, sums, builder.slot(kDValues));
    as.vmovups(builder.slot(kDValues), sums);
    return;
  }
  if (count >= 2) {
    as.vmovsd(scratch, builder.slot(kDValues));
    as.vaddps(scratch, scratch, sums);
    as.vmovlps(builder.slot(kDValues), scratch);
  }
  if (count == 3) as.vmovhlps(sums, sums, sums);
  if (count != 2) {
    as.vaddss(sums, sums, builder.slot(kDValues));
    as.vmovss(builder.slot(kDValues), sums);
  }
}

void emit_reduction(StencilBuilder& builder, int taps, int first_sum) {
  for (int at = 0; at < taps; at += 4) {
    const int count = std::min(4, taps - at);
    std::vector<Ymm> sums;
    for (int i = 0; i < count; ++i) sums.emplace_back(first_sum + at + i);
    emit_lane_sums(builder.as(), sums, kScratch0, kScratch1);
    emit_add_to_memory(builder, count, Xmm(kScratch0.getIdx()), Xmm(kScratch1.getIdx()));
  }
}

void emit_loop_body(StencilBuilder& builder, int taps, bool first, bool want_own, int first_sum) {
  auto& as = builder.as();
  if (taps > 0) as.vmovups(kX, builder.slot(kPaired + kIndex));
  if (!want_own) {
    for (int i = 0; i < taps; ++i) {
      as.vfmadd231ps(Ymm(first_sum + i), kX, builder.slot(kGathered + kIndex));
    }
    return;
  }
  if (first) {
    as.vxorps(kDx, kDx, kDx);
  } else {
    as.vmovups(kDx, builder.slot(kOwn + kIndex));
  }
  for (int i = 0; i < taps; ++i) {
    as.vmovups(kDy, builder.slot(kGathered + kIndex));
    as.vfmadd231ps(kDx, Ymm(i), kDy);
    as.vfmadd231ps(Ymm(first_sum + i), kX, kDy);
  }
  as.vmovups(builder.slot(kOwn + kIndex), kDx);
}

Stencil make_group(int taps, bool first, bool want_own) {
  StencilBuilder builder;
  auto& as = builder.as();
  const int first_sum = want_own ? taps : 0;
  if (want_own) {
    for (int i = 0; i < taps; ++i) as.vbroadcastss(Ymm(i), builder.slot(kValues));
  }
  for (int i = 0; i < taps; ++i) {
    const Ymm sum(first_sum + i);
    as.vxorps(sum, sum, sum);
  }
  as.mov(kIndex, kBytes);
  as.align(16);
  Xbyak::Label loop;
  as.L(loop);
  emit_loop_body(builder, taps, first, want_own, first_sum);
  as.add(kIndex, kVectorBytes);
  as.jnz(loop);
  emit_reduction(builder, taps, first_sum);
  return builder.finish(16);
}

class StreamBackwardEmitter {
 public:
  StreamBackwardEmitter(const TapTable& table, const Plan& plan)
      : table_(table), plan_(plan), operands_(table, plan) {
    for (int taps = 0; taps <= plan.taps_per_group; ++taps) {
      first_.push_back(make_group(taps, true, plan.want_own));
      next_.push_back(make_group(taps, false, plan.want_own));
    }
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    for (int64_t row = plan_.part_begin[chunk.part]; row < plan_.part_begin[chunk.part + 1];
         ++row) {
      const TapRange taps = block_range(table_, plan_, row, chunk.block);
      if (taps.begin == taps.end && (chunk.block > 0 || !plan_.want_own)) continue;
      for_each_group(taps, plan_.taps_per_group, [&](int64_t at, int count, bool first) {
        emit_group(writer, row, at, count, first && chunk.block == 0);
      });
    }
  }

 private:
  void emit_group(CodeWriter& writer, int64_t row, int64_t at, int count, bool first) {
    operands_.clear();
    if (plan_.want_own) {
      for (int i = 0; i < count; ++i) operands_.value(row, at + i);
    }
    if (count > 0) operands_.paired(row);
    if (plan_.want_own && !first) operands_.own(row);
    for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
    if (plan_.want_own) operands_.own(row);
    for (int i = 0; i < count; i += 4) add_reduction(row, at + i, std::min(4, count - i));
    writer.stamp(first ? first_[count] : next_[count], operands_.list());
  }

  // The accesses of emit_add_to_memory, in its order.
  void add_reduction(int64_t row, int64_t at, int count) {
    const auto twice = [&](int64_t tap) {
      operands_.d_value(row, tap);
      operands_.d_value(row, tap);
    };
    twice(at);
    if (count == 3) twice(at + 2);
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  std::vector<Stencil> first_;  // by tap count
  std::vector<Stencil> next_;
};

}  // namespace

ChunkEmitter make_stream_backward_emitter(const TapTable& table, const Plan& plan) {
  return StreamBackwardEmitter(table, plan);
}

}  // namespace sparsejit
