// Backward, resident family: short streams, no loop, all vectors of dx of one row in registers.
//
// Up to four taps form a group whose d_value sums are reduced together. One vector, two taps:
//
//     vmovups ymm0, [rdx + paired]              x (from memory at each use beyond 4 vectors)
//     vxorps ymm4, ymm4, ymm4                   dx
//     vbroadcastss ymm12, [rcx + value0]
//     vmovups ymm13, [rdi + gathered0]          dy
//     vfmadd231ps ymm4, ymm12, ymm13            dx += value0 * dy
//     vmulps ymm8, ymm13, ymm0                  d_value0 = x * dy; later vectors: vfmadd231ps
//     (the same for tap 1 into ymm9)
//     (sum ymm8, ymm9 across lanes)
//     vmovss [r8 + d_value0], xmm14
//     vextractps [r8 + d_value1], xmm14, 1
//     vmovups [rsi + own], ymm4
//
// With a tail the last vector of dy is loaded through the mask in ymm15, so that lanes which
// overlap the vector before count once; its dx is stored first and the overlap then overwritten.
//
// The stream is covered by one call, so d_values are overwritten, at their value index.
#include "emitters.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;
using Xbyak::Ymm;

constexpr int kMaxVectorsWithXInRegisters = 4;
constexpr int kFirstSum = 8;
constexpr int kMaxTaps = 4;
const Ymm kValue(12);
const Ymm kDy(13);
const Ymm kReduced(14);
const Ymm kScratch(13);  // dy is dead when sums are reduced

class ResidentBackwardEmitter {
 public:
  ResidentBackwardEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        operands_(table, plan),
        begin_(make_begin()),
        store_(make_store()) {
    for (int i = 0; i < kMaxTaps; ++i) tap_.push_back(make_tap(i));
    for (int i = 0; i < kMaxTaps; ++i) reduce_.push_back(make_reduce(i + 1));
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    for (int64_t row = plan_.part_begin[chunk.part]; row < plan_.part_begin[chunk.part + 1];
         ++row) {
      emit_row(writer, row);
    }
  }

 private:
  bool x_in_registers() const { return plan_.vectors <= kMaxVectorsWithXInRegisters; }
  static Ymm x(int vector) { return Ymm(vector); }
  // Beyond four vectors x stays in memory and dx takes its registers too.
  Ymm dx(int vector) const { return Ymm(x_in_registers() ? 4 + vector : vector); }

  Stencil make_begin() const {
    StencilBuilder builder;
    auto& as = builder.as();
    for (int v = 0; v < plan_.vectors && x_in_registers(); ++v) {
      as.vmovups(x(v), builder.slot(kPaired));
    }
    for (int v = 0; v < plan_.vectors && plan_.want_own; ++v) as.vxorps(dx(v), dx(v), dx(v));
    return builder.finish();
  }

  Stencil make_tap(int index) const {
    StencilBuilder builder;
    auto& as = builder.as();
    const Ymm sum(kFirstSum + index);
    if (plan_.want_own) as.vbroadcastss(kValue, builder.slot(kValues));
    for (int v = 0; v < plan_.vectors; ++v) {
      if (plan_.tail && v == plan_.vectors - 1) {
        as.vmaskmovps(kDy, kResidentTailMask, builder.slot(kGathered));
      } else {
        as.vmovups(kDy, builder.slot(kGathered));
      }
      if (plan_.want_own) as.vfmadd231ps(dx(v), kValue, kDy);
      if (v == 0 && x_in_registers()) {
        as.vmulps(sum, kDy, x(v));
      } else if (v == 0) {
        as.vmulps(sum, kDy, builder.slot(kPaired));
      } else if (x_in_registers()) {
        as.vfmadd231ps(sum, kDy, x(v));
      } else {
        as.vfmadd231ps(sum, kDy, builder.slot(kPaired));
      }
    }
    return builder.finish();
  }

  static Stencil make_reduce(int taps) {
    StencilBuilder builder;
    std::vector<Ymm> sums;
    for (int i = 0; i < taps; ++i) sums.emplace_back(kFirstSum + i);
    emit_lane_sums(builder.as(), sums, kReduced, kScratch);
    const Xmm reduced(kReduced.getIdx());
    builder.as().vmovss(builder.slot(kDValues), reduced);
    for (int i = 1; i < taps; ++i) builder.as().vextractps(builder.slot(kDValues), reduced, i);
    return builder.finish();
  }

  Stencil make_store() const {
    StencilBuilder builder;
    for (int v = plan_.vectors; v-- > 0 && plan_.want_own;) {
      builder.as().vmovups(builder.slot(kOwn), dx(v));
    }
    return builder.finish();
  }

  void emit_row(CodeWriter& writer, int64_t row) {
    const TapRange taps{table_.row_begin[row], table_.row_begin[row + 1]};
    if (taps.begin == taps.end && !plan_.want_own) return;
    operands_.clear();
    for (int v = 0; v < plan_.vectors && x_in_registers(); ++v) operands_.paired(row, v);
    writer.stamp(begin_, operands_.list());
    for_each_group(taps, kMaxTaps, [&](int64_t at, int count, bool) {
      for (int i = 0; i < count; ++i) emit_tap(writer, row, at + i, i);
      if (count > 0) emit_reduce(writer, row, at, count);
    });
    operands_.clear();
    for (int v = plan_.vectors; v-- > 0 && plan_.want_own;) operands_.own(row, v);
    writer.stamp(store_, operands_.list());
  }

  void emit_tap(CodeWriter& writer, int64_t row, int64_t tap, int index) {
    operands_.clear();
    if (plan_.want_own) operands_.value(row, tap);
    for (int v = 0; v < plan_.vectors; ++v) {
      operands_.gathered(row, tap, v);
      if (!x_in_registers()) operands_.paired(row, v);
    }
    writer.stamp(tap_[index], operands_.list());
  }

  void emit_reduce(CodeWriter& writer, int64_t row, int64_t at, int count) {
    operands_.clear();
    for (int i = 0; i < count; ++i) operands_.d_value(row, at + i);
    writer.stamp(reduce_[count - 1], operands_.list());
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  Stencil begin_;
  Stencil store_;
  std::vector<Stencil> tap_;     // by position in the group
  std::vector<Stencil> reduce_;  // by taps of the group - 1
};

}  // namespace

ChunkEmitter make_resident_backward_emitter(const TapTable& table, const Plan& plan) {
  return ResidentBackwardEmitter(table, plan);
}

}  // namespace sparsejit
