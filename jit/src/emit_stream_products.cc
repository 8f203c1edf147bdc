// Fused and products, stream family: sums over the stream for each tap, and in fused kernels the
// gradient of the row's own stream in the same pass.
//
// One fused group of taps; every vector of dy feeds two FMAs. For two taps of the first group:
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
//     jl L
//     (sum ymm2, ymm3 across lanes; add to or store at [r8 + d_value])
//
// With a tail, the last vector of the panel, at [... + r10 + ...], is handled before the loop: with
// x masked, so that lanes which overlap the loop add nothing to the sums, and with dx in ymm12,
// which carries it from group to group. It is stored after the loop; where it overlaps, both
// compute the same bits.
//
// A products kernel has only the sums, and the FMA itself reads the gathered vector.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;
using Xbyak::Ymm;

bool is_fused(const Plan& plan) { return plan.kind == KernelKind::fused; }

const Ymm kTailDx(12);  // fused kernels only: products use it for a sum
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

// `contiguous`: for each four sums, whether their places are consecutive floats.
void emit_reduction(StencilBuilder& builder, const Plan& plan, int taps, int first_sum,
                    bool contiguous) {
  const Xmm reduced(kScratch0.getIdx());
  for (int at = 0; at < taps; at += 4) {
    const int count = std::min(4, taps - at);
    emit_lane_sums(builder.as(), first_sum + at, count, kScratch0, kScratch1);
    if (plan.packed_values) {
      emit_add_to_memory(builder, count, reduced, Xmm(kScratch1.getIdx()));
    } else {
      emit_store_sums(builder, count, reduced, contiguous);
    }
  }
}

// All taps of one vector, x loaded; `index` is the loop's or the tail's, `dx` is for fused kernels.
void emit_taps(StencilBuilder& builder, const Plan& plan, const Xbyak::Reg64& index, const Ymm& dx,
               int taps) {
  auto& as = builder.as();
  for (int i = 0; i < taps; ++i) {
    if (is_fused(plan)) {
      as.vmovups(kDy, builder.slot(kGathered + index));
      as.vfmadd231ps(dx, Ymm(i), kDy);
      as.vfmadd231ps(Ymm(taps + i), kX, kDy);
    } else {
      as.vfmadd231ps(Ymm(i), kX, builder.slot(kGathered + index));
    }
  }
}

void emit_tail(StencilBuilder& builder, const Plan& plan, int taps, OwnState own) {
  auto& as = builder.as();
  if (is_fused(plan) && own == OwnState::untouched) as.vxorps(kTailDx, kTailDx, kTailDx);
  if (is_fused(plan) && own == OwnState::earlier_block) {
    as.vmovups(kTailDx, builder.slot(kOwn + kTail));
  }
  if (taps == 0) return;
  as.vmovups(kX, builder.slot(kPaired + kTail));
  as.vandps(kX, kX, as.ptr[kTailMask]);
  emit_taps(builder, plan, kTail, kTailDx, taps);
}

void emit_vector(StencilBuilder& builder, const Plan& plan, int taps, OwnState own) {
  auto& as = builder.as();
  if (taps > 0) as.vmovups(kX, builder.slot(kPaired + kIndex));
  if (is_fused(plan) && own == OwnState::untouched) as.vxorps(kDx, kDx, kDx);
  if (is_fused(plan) && own != OwnState::untouched) as.vmovups(kDx, builder.slot(kOwn + kIndex));
  emit_taps(builder, plan, kIndex, kDx, taps);
  if (is_fused(plan)) as.vmovups(builder.slot(kOwn + kIndex), kDx);
}

Stencil make_group(const Plan& plan, int taps, OwnState own, bool contiguous) {
  StencilBuilder builder;
  auto& as = builder.as();
  const int first_sum = is_fused(plan) ? taps : 0;
  for (int i = 0; i < first_sum; ++i) as.vbroadcastss(Ymm(i), builder.slot(kValues));
  for (int i = 0; i < taps; ++i) {
    const Ymm sum(first_sum + i);
    as.vxorps(sum, sum, sum);
  }
  if (plan.tail) emit_tail(builder, plan, taps, own);
  emit_stream_loop(as, [&] { emit_vector(builder, plan, taps, own); });
  if (plan.tail && is_fused(plan)) as.vmovups(builder.slot(kOwn + kTail), kTailDx);
  emit_reduction(builder, plan, taps, first_sum, contiguous);
  return builder.finish();
}

class StreamProductsEmitter {
 public:
  StreamProductsEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        operands_(table, plan),
        groups_(size_t{2} * kOwnStates * (plan.taps_per_group + 1)) {}

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    operands_.begin_chunk(chunk);
    for (int64_t row = plan_.part_begin[chunk.part]; row < plan_.part_begin[chunk.part + 1];
         ++row) {
      const TapRange taps = block_range(table_, plan_, row, chunk.block);
      if (taps.begin == taps.end && (chunk.block > 0 || !is_fused(plan_))) continue;
      for_each_group(taps, plan_.taps_per_group, [&](int64_t at, int count, bool first) {
        emit_group(writer, row, at, count, own_state(chunk, first));
      });
    }
  }

 private:
  void emit_group(CodeWriter& writer, int64_t row, int64_t at, int count, OwnState own) {
    operands_.clear();
    if (is_fused(plan_)) {
      for (int i = 0; i < count; ++i) operands_.value(row, at + i);
    }
    add_loop(row, at, count, own);
    const bool contiguous = !plan_.packed_values && operands_.are_contiguous(at, count);
    for (int i = 0; i < count; i += 4) {
      add_reduction(row, at + i, std::min(4, count - i), contiguous);
    }
    Stencil& group =
        groups_[2 * (kOwnStates * count + static_cast<int>(own)) + (contiguous ? 1 : 0)];
    if (group.bytes.empty()) group = make_group(plan_, count, own, contiguous);
    writer.stamp(group, operands_.list());
  }

  // The slots of emit_tail, emit_vector and the tail's store.
  void add_loop(int64_t row, int64_t at, int count, OwnState own) {
    const bool fused = is_fused(plan_);
    if (plan_.tail) {
      if (fused && own == OwnState::earlier_block) operands_.own(row);
      add_taps(row, at, count);
    }
    if (count > 0) operands_.paired(row);
    if (fused && own != OwnState::untouched) operands_.own(row);
    for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
    if (fused) operands_.own(row);
    if (fused && plan_.tail) operands_.own(row);
  }

  void add_taps(int64_t row, int64_t at, int count) {
    if (count > 0) operands_.paired(row);
    for (int i = 0; i < count; ++i) operands_.gathered(row, at + i);
  }

  // The slots of emit_add_to_memory or emit_store_sums.
  void add_reduction(int64_t row, int64_t at, int count, bool contiguous) {
    if (!plan_.packed_values) {
      operands_.stored_sums(row, at, count, contiguous);
      return;
    }
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
  // By 2 * (kOwnStates * tap count + state) + contiguous; made on first use.
  std::vector<Stencil> groups_;
};

}  // namespace

ChunkEmitter make_stream_products_emitter(const TapTable& table, const Plan& plan) {
  return StreamProductsEmitter(table, plan);
}

}  // namespace sparsejit
