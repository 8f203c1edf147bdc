// Products, resident family: gradients of the values over short streams, no loop.
//
// The row's paired stream stays in registers (beyond eight vectors it would not fit; plans keep
// streams shorter). Up to four taps form a group whose sums are reduced together. Two vectors, two
// taps whose values are neighbours:
//
//     vmovups ymm0, [rdx + paired]              once a row
//     vmovups ymm1, [rdx + paired + 32]
//     vxorps ymm8, ymm8, ymm8                   sum of d_value0
//     vfmadd231ps ymm8, ymm0, [rdi + gathered0]
//     vfmadd231ps ymm8, ymm1, [rdi + gathered0 + 32]
//     (the same for tap 1 into ymm9)
//     (sum ymm8, ymm9 across lanes into xmm14)
//     vmovlps [r8 + d_value0], xmm14
//
// With a tail the last vector of the paired stream is masked, so that lanes which overlap the
// vector before count once; it is summed first, as in the stream family. The stream is covered by
// one call, so d_values are overwritten, at their value index.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;
using Xbyak::Ymm;

constexpr int kFirstSum = 8;
constexpr int kMaxTaps = 4;
const Ymm kReduced(14);
const Ymm kScratch(13);

class ResidentProductsEmitter {
 public:
  ResidentProductsEmitter(const TapTable& table, const Plan& plan)
      : table_(table), plan_(plan), operands_(table, plan), gathered_(plan), begin_(make_begin()) {
    for (int i = 0; i < kMaxTaps; ++i) tap_.push_back(make_tap(i));
    for (int taps = 1; taps <= kMaxTaps; ++taps) {
      for (const bool contiguous : {false, true}) reduce_.push_back(make_reduce(taps, contiguous));
    }
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    operands_.begin_chunk(chunk);
    for (int64_t row = plan_.part_begin[chunk.part]; row < plan_.part_begin[chunk.part + 1];
         ++row) {
      const TapRange taps{table_.row_begin[row], table_.row_begin[row + 1]};
      if (taps.begin < taps.end) emit_row(writer, row, taps);
    }
  }

 private:
  // The order in which the vectors of a tap are summed.
  int vector_at(int step) const {
    if (!plan_.tail) return step;
    return step == 0 ? plan_.vectors - 1 : step - 1;
  }

  Stencil make_begin() const {
    StencilBuilder builder;
    for (int v = 0; v < plan_.vectors; ++v) {
      builder.as().vmovups(Ymm(v), builder.slot(kPaired));
    }
    const Ymm last(plan_.vectors - 1);
    if (plan_.tail) builder.as().vandps(last, last, builder.as().ptr[kTailMask]);
    return builder.finish();
  }

  Stencil make_tap(int index) const {
    StencilBuilder builder;
    auto& as = builder.as();
    const Ymm sum(kFirstSum + index);
    as.vxorps(sum, sum, sum);
    gathered_.begin(builder);
    for (int step = 0; step < plan_.vectors; ++step) {
      const int v = vector_at(step);
      as.vfmadd231ps(sum, Ymm(v), gathered_.vector(builder, v));
    }
    return builder.finish();
  }

  static Stencil make_reduce(int taps, bool contiguous) {
    StencilBuilder builder;
    emit_lane_sums(builder.as(), kFirstSum, taps, kReduced, kScratch);
    emit_store_sums(builder, taps, Xmm(kReduced.getIdx()), contiguous);
    return builder.finish();
  }

  void emit_row(CodeWriter& writer, int64_t row, TapRange taps) {
    operands_.clear();
    for (int v = 0; v < plan_.vectors; ++v) operands_.paired(row, v);
    writer.stamp(begin_, operands_.list());
    for_each_group(taps, kMaxTaps, [&](int64_t at, int count, bool) {
      for (int i = 0; i < count; ++i) emit_tap(writer, row, at + i, i);
      emit_reduce(writer, row, at, count);
    });
  }

  void emit_tap(CodeWriter& writer, int64_t row, int64_t tap, int index) {
    operands_.clear();
    const bool single = gathered_.slots() == 1;
    for (int step = 0; step < gathered_.slots(); ++step) {
      operands_.gathered(row, tap, single ? 0 : vector_at(step));
    }
    writer.stamp(tap_[index], operands_.list());
  }

  void emit_reduce(CodeWriter& writer, int64_t row, int64_t at, int count) {
    const bool contiguous = operands_.are_contiguous(at, count);
    operands_.clear();
    operands_.stored_sums(row, at, count, contiguous);
    writer.stamp(reduce_[2 * (count - 1) + (contiguous ? 1 : 0)], operands_.list());
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  GatheredStream gathered_;
  Stencil begin_;
  std::vector<Stencil> tap_;     // by position in the group
  std::vector<Stencil> reduce_;  // by 2 * (taps of the group - 1) + contiguous
};

}  // namespace

ChunkEmitter make_resident_products_emitter(const TapTable& table, const Plan& plan) {
  return ResidentProductsEmitter(table, plan);
}

}  // namespace sparsejit
