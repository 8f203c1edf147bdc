// Fused and products, strip family: backward over operands that lie in strips (strips.h), in little
// code.
//
// The taps of a row in a block go in groups of up to 13, whose values and sums stay in registers
// while a loop walks the strip. There is a body for each size of a group; groups come sorted by
// their size, largest first, so a chunk is a row of bodies, each of which loops over its groups.
// With AVX-512, of which this is the only user among loops: the gathered strips are in L1. Groups
// of one tap:
//
//     lea r11, [rip + table]
//     mov r10, r9;  add r9, rdi              bytes of the strip; the end of the first gathered one
//  G: movsxd rax, [r11]                      from the row before to this one; or no more groups
//     cmp eax, 0x80000000
//     je next body
//     add rsi, rax;  add rdx, rax
//     vbroadcastss zmm0, [rcx]
//     vpxord zmm13, zmm13, zmm13             sum of its gradient
//  L: vmovups zmm26, [rdx];       vmovups zmm27, [rdx + 64]     x
//     vmovups zmm28, [rsi];       vmovups zmm29, [rsi + 64]     dx
//     mov eax, [r11 + 4]                                        where the tap gathers
//     vmovups zmm30, [rdi + rax]; vmovups zmm31, [rdi + rax + 64]
//     vfmadd231ps zmm28, zmm0, zmm30                            dx += value * dy
//     vfmadd231ps zmm13, zmm26, zmm30                           d_value += x * dy
//     vfmadd231ps zmm29, zmm0, zmm31
//     vfmadd231ps zmm13, zmm27, zmm31
//     vmovups [rsi], zmm28;       vmovups [rsi + 64], zmm29
//     sub rsi, -128;  sub rdx, -128;  sub rdi, -128
//     cmp rdi, r9
//     jb L
//     sub rdi, r10;  sub rsi, r10;  sub rdx, r10
//     (sum zmm13 across its halves; add the first, then the second, to [r8])
//     add rcx, 4;  add r8, 4;  add r11, 8
//     jmp G
//
// Products have neither values nor dx.
//
// Values and their gradients lie in the order of the groups. The table of a group, in words of four
// bytes: step from the row before | where each tap gathers. A word of 0x80000000 ends the groups of
// a body.
#include <algorithm>
#include <array>
#include <limits>

#include "emitters.h"
#include "plan_strip.h"
#include "sparsejit/error.h"
#include "sparsejit/strips.h"
#include "table_rows.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;
using Xbyak::Zmm;
using Xbyak::util::dword;

constexpr int kWord = static_cast<int>(ChunkData::kWordBytes);
constexpr int kVector = 64;            // bytes
constexpr int kStep = 2 * kVector;     // of the loop
constexpr int kFirstSum = kStripTaps;  // values are in the registers before
constexpr auto kNear = Xbyak::CodeGenerator::T_NEAR;
constexpr int64_t kEnd = std::numeric_limits<int32_t>::min();
constexpr int kHeaderWords = 1;

const std::array<Zmm, 2> kX{Zmm(26), Zmm(27)};
const std::array<Zmm, 2> kDx{Zmm(28), Zmm(29)};
const std::array<Zmm, 2> kDy{Zmm(30), Zmm(31)};
const Xbyak::Reg64 kEndOfFirst = Xbyak::util::r9;
const Xbyak::Reg64 kStripBytes = Xbyak::util::r10;

Stencil make_prologue() {
  StencilBuilder builder;
  auto& as = builder.as();
  as.lea(kTable, builder.data_slot());
  as.mov(kStripBytes, kBytes);
  as.add(kEndOfFirst, kGathered);
  return builder.finish();
}

// Sums of up to four taps, from zmm`first` on, across the lanes of each half, in the order of
// emit_lane_sums: the low halves come to the low lanes of zmm0, the high ones to those of zmm1.
// Values are dead by now.
void emit_half_sums(Xbyak::CodeGenerator& as, int first, int count) {
  const auto sum = [&](int i) { return Zmm(first + std::min(i, count - 1)); };
  const auto add_pairs = [&as](const Zmm& into, const Zmm& a, const Zmm& b) {
    const Zmm odd(6);
    as.vshufps(odd, a, b, 0xDD);
    as.vshufps(into, a, b, 0x88);
    as.vaddps(into, into, odd);
  };
  add_pairs(Zmm(2), sum(0), sum(1));
  add_pairs(Zmm(3), sum(2), sum(3));
  add_pairs(Zmm(0), Zmm(2), Zmm(3));
  as.vshuff32x4(Zmm(1), Zmm(0), Zmm(0), 0xB1);
  as.vaddps(Zmm(0), Zmm(0), Zmm(1));
  as.vextractf32x4(Xmm(1), Zmm(0), 2);
}

// Adds xmm0, then xmm1, to `count` floats of the gradient, `offset` bytes on.
void emit_add_halves(Xbyak::CodeGenerator& as, int count, int offset) {
  const Xmm low(0);
  const Xmm high(1);
  const Xmm total(2);
  const auto place = [&](int lane) {
    return as.ptr[kDValues + displacement(offset + lane * kFloatBytes)];
  };
  if (count == 4) {
    as.vaddps(total, low, place(0));
    as.vaddps(total, total, high);
    as.vmovups(place(0), total);
    return;
  }
  if (count >= 2) {
    as.vmovsd(total, place(0));
    as.vaddps(total, total, low);
    as.vaddps(total, total, high);
    as.vmovlps(place(0), total);
  }
  if (count == 3) {
    as.vmovhlps(low, low, low);
    as.vmovhlps(high, high, high);
  }
  if (count == 2) return;
  const int lane = count - 1;
  as.vaddss(total, low, place(lane));
  as.vaddss(total, total, high);
  as.vmovss(place(lane), total);
}

void emit_taps(Xbyak::CodeGenerator& as, int taps, bool fused) {
  for (int i = 0; i < taps; ++i) {
    as.mov(kOffset.cvt32(), dword[kTable + displacement((kHeaderWords + i) * kWord)]);
    for (int v = 0; v < 2; ++v) {
      as.vmovups(kDy[v], as.ptr[kGathered + kOffset + displacement(v * kVector)]);
    }
    for (int v = 0; v < 2; ++v) {
      if (fused) as.vfmadd231ps(kDx[v], Zmm(i), kDy[v]);
      as.vfmadd231ps(Zmm(kFirstSum + i), kX[v], kDy[v]);
    }
  }
}

void emit_loop(Xbyak::CodeGenerator& as, int taps, bool fused) {
  Xbyak::Label loop;
  as.L(loop);
  const auto own = [&](int v) { return as.ptr[kOwn + displacement(v * kVector)]; };
  for (int v = 0; v < 2; ++v) as.vmovups(kX[v], as.ptr[kPaired + displacement(v * kVector)]);
  for (int v = 0; v < 2 && fused; ++v) as.vmovups(kDx[v], own(v));
  emit_taps(as, taps, fused);
  for (int v = 0; v < 2 && fused; ++v) as.vmovups(own(v), kDx[v]);
  for (const auto& pointer : {kOwn, kPaired, kGathered}) as.sub(pointer, -kStep);  // shorter
  as.cmp(kGathered, kEndOfFirst);
  as.jb(loop, kNear);
  for (const auto& pointer : {kGathered, kOwn, kPaired}) as.sub(pointer, kStripBytes);
}

Stencil make_body(int taps, bool fused) {
  StencilBuilder builder;
  auto& as = builder.as();
  Xbyak::Label group, end;
  as.L(group);
  as.movsxd(kOffset, dword[kTable]);
  as.cmp(kOffset.cvt32(), static_cast<uint32_t>(kEnd));
  as.je(end, kNear);
  as.add(kOwn, kOffset);
  as.add(kPaired, kOffset);
  for (int i = 0; i < taps && fused; ++i) {
    as.vbroadcastss(Zmm(i), as.ptr[kValues + displacement(i * kFloatBytes)]);
  }
  for (int i = 0; i < taps; ++i) emit_zero(as, Zmm(kFirstSum + i));
  emit_loop(as, taps, fused);
  for (int at = 0; at < taps; at += 4) {
    const int count = std::min(4, taps - at);
    emit_half_sums(as, kFirstSum + at, count);
    emit_add_halves(as, count, at * kFloatBytes);
  }
  if (fused) as.add(kValues, taps * kFloatBytes);
  as.add(kDValues, taps * kFloatBytes);
  as.add(kTable, (kHeaderWords + taps) * kWord);
  as.jmp(group, kNear);
  as.L(end);
  as.add(kTable, kWord);
  return builder.finish();
}

class StripSumsEmitter {
 public:
  StripSumsEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        words_(table, plan),
        prologue_(make_prologue()),
        bodies_(plan.taps_per_group + 1) {
    SPARSEJIT_CHECK(plan.taps_per_group, <=, kStripTaps);
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    words_.begin_chunk(chunk);
    writer.stamp_with_data(prologue_, words_.data());
    int64_t before = 0;
    int64_t size = 0;
    for (const TapGroup& group : strip_groups(table_, plan_, chunk)) {
      if (group.count() != size) {
        if (size > 0) words_.word(kEnd);
        size = group.count();
        writer.stamp(body(size), {});
      }
      list_group(group, before);
      before = group.row;
    }
    words_.word(kEnd);
  }

 private:
  const Stencil& body(int64_t taps) {
    Stencil& body = bodies_[taps];
    if (body.bytes.empty()) {
      body = make_body(static_cast<int>(taps), plan_.kind == KernelKind::fused);
    }
    return body;
  }

  void list_group(const TapGroup& group, int64_t before) {
    words_.own_step(group.row, before);
    for (int64_t tap = group.taps.begin; tap < group.taps.end; ++tap) {
      words_.gathered(group.row, tap);
    }
  }

  const TapTable& table_;
  const Plan& plan_;
  TableWords words_;
  const Stencil prologue_;
  std::vector<Stencil> bodies_;  // by taps; made on first use
};

}  // namespace

ChunkEmitter make_strip_sums_emitter(const TapTable& table, const Plan& plan) {
  return StripSumsEmitter(table, plan);
}

}  // namespace sparsejit
