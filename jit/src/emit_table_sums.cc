// Fused and products, table family: backward over short streams, in little code.
//
// A row's paired stream x stays in registers, and of a fused kernel what its own stream comes to,
// too: each vector of dy that is loaded serves both gradients. Taps go four at a time, so that the
// sums across lanes are shared; rows are sorted by their taps, so that loops are predicted. Of
// short streams two rows take turns, as dx of one waits for each of its additions. Fused, one row
// of one vector:
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
// Where plans ask for it, the value of a tap further on is prefetched. Products do without values
// and dx. Where the values of a row lie side by side, r9 is where the
// next gradients go, stored four at a time, and the table has streams only. Beyond five vectors a
// fused kernel has no register for some vectors of x, which are operands in memory then. With a
// tail the last one is masked, so it has a register, and is summed first, as in other families.
//
// The table of a row, in words of four bytes:
//
//     rounds | steps to paired streams two groups further on, and own of these, to prefetch |
//     step of the paired stream, and own or first gradient, of each row |
//     (stream, value) of each tap in rounds |
//     two rows: rounds of the second alone, and their taps |
//     taps left of each row, and these | own of each row, where fused
#include <algorithm>
#include <array>
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
constexpr int kRowWords = 3;   // of a row in the header of its group
constexpr int kMaskWords = 8;  // before all rows, where there is a tail
constexpr int kLine = 64;
constexpr size_t kGroupsAhead = 2;
constexpr auto kNear = Xbyak::CodeGenerator::T_NEAR;

class TableSumsEmitter {
 public:
  TableSumsEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        fused_(plan.kind == KernelKind::fused),
        rows_(plan.rows_per_group),
        tap_bytes_(plan.names_values ? 2 * kWord : kWord),
        words_(table, plan) {}

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    const Stencil& code = block_code(chunk.block == 0);
    words_.begin_chunk(chunk);
    if (plan_.tail) list_mask();
    const std::vector<TableRow> rows = sorted_table_rows(table_, plan_, chunk, fused_);
    int64_t before = 0;
    const std::vector<TableGroup> groups = group_table_rows(rows, rows_);
    for (size_t i = 0; i < groups.size(); ++i) {
      list_group(groups[i], groups[std::min(i + kGroupsAhead, groups.size() - 1)], before);
      before = groups[i][rows_ - 1].row;
    }
    words_.word(-1);
    // What the last taps read ahead; elsewhere that may be any word, and fetch in vain.
    const int64_t ahead = plan_.prefetch == 0 ? 0 : 2 * (plan_.prefetch + kRoundTaps);
    for (int64_t i = 0; i < ahead; ++i) words_.word(0);
    writer.stamp_with_data(code, words_.data());
  }

 private:
  Ymm own(int row, int vector) const { return Ymm(row * plan_.vectors + vector); }
  size_t offset_of(int vector) const {
    return static_cast<size_t>(unrolled_vector_offset(plan_, vector));
  }
  // The order in which the vectors of a tap are summed.
  int vector_at(int step) const {
    if (!plan_.tail) return step;
    return step == 0 ? plan_.vectors - 1 : step - 1;
  }
  // Vectors of the paired stream get registers in that order, as far as there are any.
  int paired_number(int row, int step) const {
    return (fused_ ? rows_ * plan_.vectors : 0) + row * plan_.vectors + step;
  }
  bool is_held(int row, int step) const { return paired_number(row, step) < kFirstSum; }
  Ymm paired(int row, int step) const { return Ymm(paired_number(row, step)); }

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
    assemble_prefetches(as);
    assemble_begin(builder, first);
    assemble_loop(as, {.taps = kRoundTaps, .rows = rows_});
    if (rows_ > 1) assemble_rest(as, {.taps = kRoundTaps, .first_row = rows_ - 1});
    for (int r = 0; r < rows_; ++r) assemble_rest(as, {.taps = 1, .first_row = r});
    if (fused_) assemble_store(as);
    as.jmp(row, kNear);
    as.L(end);
    return builder.finish();
  }

  int prefetch_words() const { return fused_ ? 2 * rows_ : rows_; }

  // The paired and own streams of rows further on, which are not next to these in memory.
  void assemble_prefetches(Xbyak::CodeGenerator& as) const {
    for (int r = 0; r < prefetch_words(); ++r) {
      as.movsxd(kOffset, dword[kTable + displacement(kWord * (1 + r))]);
      for (int line = 0; line < (plan_.vectors + 1) / 2; ++line) {
        const Xbyak::RegExp at =
            (r < rows_ ? kPaired : kOwn) + kOffset + displacement(kLine * line);
        r < rows_ ? as.prefetcht0(as.ptr[at]) : as.prefetchw(as.ptr[at]);
      }
    }
    as.add(kTable, kWord * prefetch_words());
  }

  void assemble_begin(StencilBuilder& builder, bool first) const {
    auto& as = builder.as();
    for (int r = 0; r < rows_; ++r) {
      const int at = kWord * (1 + kRowWords * r);
      as.add(kPaired, qword[kTable + at]);
      for (int step = 0; step < plan_.vectors && is_held(r, step); ++step) {
        as.vmovups(paired(r, step), as.ptr[kPaired + offset_of(vector_at(step))]);
      }
      const Ymm last = paired(r, 0);
      if (plan_.tail) as.vandps(last, last, builder.data_slot());
      if (fused_) assemble_own_begin(as, r, first, at + 2 * kWord);
    }
    if (!plan_.names_values) as.movsxd(kNamed, dword[kTable + displacement(3 * kWord)]);
    as.add(kTable, kWord * (1 + kRowWords * rows_));
  }

  void assemble_own_begin(Xbyak::CodeGenerator& as, int row, bool first, int at) const {
    if (!first) as.movsxd(kOffset, dword[kTable + at]);
    for (int v = 0; v < plan_.vectors; ++v) {
      const Ymm sum = own(row, v);
      if (first) {
        as.vxorps(sum, sum, sum);
      } else {
        as.vmovups(sum, as.ptr[kOwn + kOffset + offset_of(v)]);
      }
    }
  }

  // The taps of a round are of `rows` rows in turn.
  struct Round {
    int taps = 1;
    int first_row = 0;
    int rows = 1;
  };

  // A loop whose number of rounds is the next word.
  void assemble_rest(Xbyak::CodeGenerator& as, const Round& round) const {
    as.mov(kCount.cvt32(), dword[kTable]);
    as.add(kTable, kWord);
    assemble_loop(as, round);
  }

  // No round where the count is 0.
  void assemble_loop(Xbyak::CodeGenerator& as, const Round& round) const {
    Xbyak::Label loop, done;
    as.test(kCount.cvt32(), kCount.cvt32());
    as.jz(done, kNear);
    as.L(loop);
    for (int i = 0; i < round.taps; ++i) assemble_tap(as, i, round.first_row + i % round.rows);
    emit_lane_sums(as, kFirstSum, round.taps, kReduced, kScratch);
    assemble_gradients(as, round.taps);
    as.add(kTable, round.taps * tap_bytes_);
    as.dec(kCount.cvt32());
    as.jnz(loop, kNear);
    as.L(done);
  }

  void assemble_tap(Xbyak::CodeGenerator& as, int i, int row) const {
    const Ymm sum(kFirstSum + i);
    as.movsxd(kOffset, dword[kTable + displacement(i * tap_bytes_)]);
    as.vxorps(sum, sum, sum);
    if (fused_) {
      as.movsxd(kNamed, dword[kTable + displacement(i * tap_bytes_ + kWord)]);
      as.vbroadcastss(kValue, as.ptr[kValues + kNamed]);
      if (plan_.prefetch != 0) {
        as.movsxd(kNamed, dword[kTable + displacement((i + plan_.prefetch) * tap_bytes_ + kWord)]);
        as.prefetcht0(as.ptr[kValues + kNamed]);
      }
    }
    for (int step = 0; step < plan_.vectors; ++step) {
      const int v = vector_at(step);
      const Xbyak::Address gathered = as.ptr[kGathered + kOffset + offset_of(v)];
      if (!fused_) {
        as.vfmadd231ps(sum, paired(row, step), gathered);
        continue;
      }
      as.vmovups(kGatheredVector, gathered);
      as.vfmadd231ps(own(row, v), kValue, kGatheredVector);
      if (is_held(row, step)) {
        as.vfmadd231ps(sum, paired(row, step), kGatheredVector);
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
      as.movsxd(kNamed, dword[kTable + displacement(i * tap_bytes_ + kWord)]);
      i == 0 ? as.vmovss(at, sums) : as.vextractps(at, sums, static_cast<uint8_t>(i));
    }
  }

  void assemble_store(Xbyak::CodeGenerator& as) const {
    for (int r = 0; r < rows_; ++r) {
      as.movsxd(kOffset, dword[kTable + displacement(kWord * r)]);
      for (int v = 0; v < plan_.vectors; ++v) {
        as.vmovups(as.ptr[kOwn + kOffset + offset_of(v)], own(r, v));
      }
    }
    as.add(kTable, kWord * rows_);
  }

  // The last vector begins `overlap` lanes before the end of the one before it.
  void list_mask() {
    const int64_t overlap = int64_t{plan_.vectors} * kMaskWords - plan_.panel;
    for (int lane = 0; lane < kMaskWords; ++lane) words_.word(lane < overlap ? 0 : -1);
  }

  int64_t paired_step(int64_t from, int64_t to) const {
    return (to - from) * plan_.pitches.paired * kFloatBytes;
  }

  // `before`: the row whose paired stream the code has come to.
  void list_group(const TableGroup& group, const TableGroup& ahead, int64_t before) {
    const int64_t each = kRoundTaps / rows_;
    const int64_t rounds = group[0].count() / each;
    words_.word(rounds);
    for (int r = 0; r < rows_; ++r) words_.word(paired_step(before, ahead[r].row));
    for (int r = 0; r < rows_ && fused_; ++r) words_.word(words_.own_offset(ahead[r].row));
    for (int r = 0; r < rows_; ++r) {
      const TableRow& row = group[r];
      words_.long_word(paired_step(before, row.row));
      if (fused_) {
        words_.own(row.row);
      } else {
        words_.d_value(row.row, row.taps.begin);
      }
      before = row.row;
    }
    for (int64_t i = 0; i < rounds * each; ++i) {
      for (int r = 0; r < rows_; ++r) list_tap(group[r].row, group[r].taps.begin + i);
    }
    std::array<TapRange, kMaxTableRows> rest;
    for (int r = 0; r < rows_; ++r) {
      rest[r] = {group[r].taps.begin + rounds * each, group[r].taps.end};
    }
    if (rows_ > 1) list_rounds(group[rows_ - 1].row, rest[rows_ - 1], kRoundTaps);
    for (int r = 0; r < rows_; ++r) list_rounds(group[r].row, rest[r], 1);
    for (int r = 0; r < rows_ && fused_; ++r) words_.own(group[r].row);
  }

  // As many rounds as there are, and their taps, which are taken from `taps`.
  void list_rounds(int64_t row, TapRange& taps, int64_t taps_of_round) {
    const int64_t rounds = (taps.end - taps.begin) / taps_of_round;
    words_.word(rounds);
    const int64_t end = taps.begin + rounds * taps_of_round;
    while (taps.begin < end) list_tap(row, taps.begin++);
  }

  void list_tap(int64_t row, int64_t tap) {
    words_.gathered(row, tap);
    if (plan_.names_values) words_.value(row, tap);
  }

  const TapTable& table_;
  const Plan& plan_;
  const bool fused_;
  const int rows_;
  const int tap_bytes_;  // of the table
  TableWords words_;
  std::map<bool, Stencil> codes_;  // by first block
};

}  // namespace

ChunkEmitter make_table_sums_emitter(const TapTable& table, const Plan& plan) {
  return TableSumsEmitter(table, plan);
}

}  // namespace sparsejit
