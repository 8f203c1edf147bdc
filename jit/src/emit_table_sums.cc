// Fused and products, table family: backward over short streams, in little code.
//
// A row's paired stream x stays in registers, and of a fused kernel what its own stream comes to,
// too: each vector of dy that is loaded serves both gradients. Taps go four at a time, so that the
// sums across lanes are shared; rows are sorted by their taps, so that loops are predicted. Fused,
// one vector:
//
//     lea r11, [rip + table]
//  R: mov r10d, [r11]                     rounds of four taps; negative at the end
//     test r10d, r10d
//     js end
//     add rdx, [r11 + 4]                  from the paired stream of the row before to that of this
//     vmovups ymm1, [rdx]
//     vxorps ymm0, ymm0, ymm0             dx. Later blocks: vmovups ymm0, [rsi + rax]
//     add r11, 16
//     test r10d, r10d
//     jz rest
//  F: movsxd rax, [r11]                   the stream and the value of a tap
//     movsxd r9, [r11 + 4]
//     vxorps ymm10, ymm10, ymm10          sum of its gradient
//     vbroadcastss ymm15, [rcx + r9]
//     vmovups ymm14, [rdi + rax]
//     vfmadd231ps ymm0, ymm15, ymm14
//     vfmadd231ps ymm10, ymm1, ymm14
//     (three more taps, into ymm11 to ymm13; sum all across lanes into xmm14)
//     movsxd r9, [r11 + 4];  vmovss [r8 + r9], xmm14;  ...  vextractps [r8 + r9], xmm14, 3
//     add r11, 32;  dec r10d;  jnz F
//  rest:
//     mov r10d, [r11]                     0 to 3 taps, one by one
//     ...
//     movsxd rax, [r11];  vmovups [rsi + rax], ymm0
//     jmp R
//
// Products do without values and dx. Where the values of a row lie side by side, r9 is where the
// next gradients go, stored four at a time, and the table has streams only. Beyond five vectors a
// fused kernel has no register for some vectors of x, which are operands in memory then. With a
// tail the last one is masked, so it has a register, and is summed first, as in other families.
//
// The table of a row, in words of four bytes:
//
//     rounds | step of the paired stream | own or first gradient | (stream, value) of each tap in
//     rounds | taps left | (stream, value) of these | own, where fused
#include <map>

#include "emitters.h"
#include "table_rows.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::util::dword;
using Xbyak::util::qword;

constexpr int kRoundTaps = 4;
constexpr int kFirstSum = 10;
const Ymm kGatheredVector(14);
const Ymm kValue(15);
// While sums are added up nothing is gathered.
const Ymm kReduced(14);
const Ymm kScratch(15);
const Xbyak::Reg64 kNamed = Xbyak::util::r9;  // where a value, or its gradient, is

constexpr int kWord = static_cast<int>(ChunkData::kWordBytes);
constexpr int kHeader = 4;       // words of a row before its taps
constexpr int kMaskWords = 8;    // before all rows, where there is a tail
constexpr auto kNear = Xbyak::CodeGenerator::T_NEAR;

class TableSumsEmitter {
 public:
  TableSumsEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        fused_(plan.kind == KernelKind::fused),
        tap_bytes_(plan.names_values ? 2 * kWord : kWord),
        words_(table, plan) {}

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    const Stencil& code = block_code(chunk.block == 0);
    words_.begin_chunk(chunk);
    if (plan_.tail) list_mask();
    const std::vector<TableRow> rows = sorted_table_rows(table_, plan_, chunk, fused_);
    int64_t before = 0;
    for (const TableRow& row : rows) {
      list_row(row, before);
      before = row.row;
    }
    words_.word(-1);
    writer.stamp_with_data(code, words_.data());
  }

 private:
  Ymm own(int vector) const { return Ymm(vector); }
  size_t offset_of(int vector) const {
    return static_cast<size_t>(unrolled_vector_offset(plan_, vector));
  }
  // The order in which the vectors of a tap are summed.
  int vector_at(int step) const {
    if (!plan_.tail) return step;
    return step == 0 ? plan_.vectors - 1 : step - 1;
  }
  // Vectors of the paired stream get registers in that order, as far as there are any.
  int first_paired() const { return fused_ ? plan_.vectors : 0; }
  bool is_held(int step) const { return first_paired() + step < kFirstSum; }
  Ymm paired(int step) const { return Ymm(first_paired() + step); }

  const Stencil& block_code(bool first) {
    const auto [at, is_new] = codes_.try_emplace(first);
    if (is_new) at->second = assemble(first);
    return at->second;
  }

  Stencil assemble(bool first) const {
    StencilBuilder builder;
    auto& as = builder.as();
    Xbyak::Label row, end;
    as.lea(kTable, builder.data_slot());
    if (plan_.tail) as.add(kTable, kMaskWords * kWord);
    as.L(row);
    as.mov(kCount.cvt32(), dword[kTable]);
    as.test(kCount.cvt32(), kCount.cvt32());
    as.js(end, kNear);
    assemble_begin(builder, first);
    assemble_loop(as, kRoundTaps);
    as.mov(kCount.cvt32(), dword[kTable]);
    as.add(kTable, kWord);
    assemble_loop(as, 1);
    if (fused_) assemble_store(as);
    as.jmp(row, kNear);
    as.L(end);
    return builder.finish();
  }

  void assemble_begin(StencilBuilder& builder, bool first) const {
    auto& as = builder.as();
    as.add(kPaired, qword[kTable + kWord]);
    for (int step = 0; step < plan_.vectors && is_held(step); ++step) {
      as.vmovups(paired(step), as.ptr[kPaired + offset_of(vector_at(step))]);
    }
    const Ymm last = paired(0);
    if (plan_.tail) as.vandps(last, last, builder.data_slot());
    if (fused_ && !first) as.movsxd(kOffset, dword[kTable + 3 * kWord]);
    for (int v = 0; v < plan_.vectors && fused_; ++v) {
      if (first) {
        as.vxorps(own(v), own(v), own(v));
      } else {
        as.vmovups(own(v), as.ptr[kOwn + kOffset + offset_of(v)]);
      }
    }
    if (!plan_.names_values) as.movsxd(kNamed, dword[kTable + 3 * kWord]);
    as.add(kTable, kHeader * kWord);
  }

  // Rounds of `taps` taps; none where the count is 0.
  void assemble_loop(Xbyak::CodeGenerator& as, int taps) const {
    Xbyak::Label loop, done;
    as.test(kCount.cvt32(), kCount.cvt32());
    as.jz(done, kNear);
    as.L(loop);
    for (int i = 0; i < taps; ++i) assemble_tap(as, i);
    emit_lane_sums(as, kFirstSum, taps, kReduced, kScratch);
    assemble_gradients(as, taps);
    as.add(kTable, taps * tap_bytes_);
    as.dec(kCount.cvt32());
    as.jnz(loop, kNear);
    as.L(done);
  }

  void assemble_tap(Xbyak::CodeGenerator& as, int i) const {
    const Ymm sum(kFirstSum + i);
    as.movsxd(kOffset, dword[kTable + i * tap_bytes_]);
    as.vxorps(sum, sum, sum);
    if (fused_) {
      as.movsxd(kNamed, dword[kTable + i * tap_bytes_ + kWord]);
      as.vbroadcastss(kValue, as.ptr[kValues + kNamed]);
    }
    for (int step = 0; step < plan_.vectors; ++step) {
      const int v = vector_at(step);
      const Xbyak::Address gathered = as.ptr[kGathered + kOffset + offset_of(v)];
      if (!fused_) {
        as.vfmadd231ps(sum, paired(step), gathered);
        continue;
      }
      as.vmovups(kGatheredVector, gathered);
      as.vfmadd231ps(own(v), kValue, kGatheredVector);
      if (is_held(step)) {
        as.vfmadd231ps(sum, paired(step), kGatheredVector);
      } else {
        as.vfmadd231ps(sum, kGatheredVector, as.ptr[kPaired + offset_of(v)]);
      }
    }
  }

  void assemble_gradients(Xbyak::CodeGenerator& as, int taps) const {
    const Xmm sums(kReduced.getIdx());
    const Xbyak::Address at = as.ptr[kDValues + kNamed];
    if (!plan_.names_values) {
      taps == 1 ? as.vmovss(at, sums) : as.vmovups(at, sums);
      as.add(kNamed, taps * kFloatBytes);
      return;
    }
    for (int i = 0; i < taps; ++i) {
      as.movsxd(kNamed, dword[kTable + i * tap_bytes_ + kWord]);
      i == 0 ? as.vmovss(at, sums) : as.vextractps(at, sums, static_cast<uint8_t>(i));
    }
  }

  void assemble_store(Xbyak::CodeGenerator& as) const {
    as.movsxd(kOffset, dword[kTable]);
    for (int v = 0; v < plan_.vectors; ++v) {
      as.vmovups(as.ptr[kOwn + kOffset + offset_of(v)], own(v));
    }
    as.add(kTable, kWord);
  }

  // The last vector begins `overlap` lanes before the end of the one before it.
  void list_mask() {
    const int64_t overlap = plan_.vectors * kMaskWords - plan_.panel;
    for (int lane = 0; lane < kMaskWords; ++lane) words_.word(lane < overlap ? 0 : -1);
  }

  void list_row(const TableRow& row, int64_t before) {
    const int64_t rounds = row.count() / kRoundTaps;
    words_.word(rounds);
    words_.long_word((row.row - before) * plan_.pitches.paired * kFloatBytes);
    if (fused_) {
      words_.own(row.row);
    } else {
      words_.d_value(row.row, row.taps.begin);
    }
    int64_t tap = row.taps.begin;
    for (; tap < row.taps.begin + rounds * kRoundTaps; ++tap) list_tap(row.row, tap);
    words_.word(row.taps.end - tap);
    for (; tap < row.taps.end; ++tap) list_tap(row.row, tap);
    if (fused_) words_.own(row.row);
  }

  void list_tap(int64_t row, int64_t tap) {
    words_.gathered(row, tap);
    if (plan_.names_values) words_.value(row, tap);
  }

  const TapTable& table_;
  const Plan& plan_;
  const bool fused_;
  const int tap_bytes_;  // of the table
  TableWords words_;
  std::map<bool, Stencil> codes_;  // by first block
};

}  // namespace

ChunkEmitter make_table_sums_emitter(const TapTable& table, const Plan& plan) {
  return TableSumsEmitter(table, plan);
}

}  // namespace sparsejit
