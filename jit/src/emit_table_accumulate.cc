// Accumulate, table family: forward, or dx alone, of short streams, in little code.
//
// Rows are sorted by their taps and taken in groups, whose sums are all in registers. The body is
// unrolled over taps_per_group taps of each row and entered so late that what is left of it is what
// the rows have; with more taps, whole bodies follow. All groups of as many taps enter at the same
// place, and the processor predicts the jump. Two rows a group, one vector:
//
//     lea r11, [rip + table]
//  G: mov r10d, [r11]                        taps that the second row has more than the first one;
//     test r10d, r10d                        negative at the end
//     js end
//     movsxd rax, [r11 + 4]                  the same for the second row. Later blocks:
//     vbroadcastss ymm0, [r8 + rax]          vmovups ymm0, [rsi + rax]
//     add r11, 12
//     test r10d, r10d
//     jz run
//  E: (a tap of the second row; always names its value)   add r11, 8;  dec r10d;  jnz E
//  run:
//     lea rdx, [rip + body];  movsxd rax, [r11];  add rax, rdx
//     movsxd r10, [r11 + 4]                  whole bodies after the first one
//     movsxd rdx, [r11 + 12]                 values of the first row; r9: of the second one
//     movsxd r?, ... add r11, shift          so that displacements fit where the body is entered
//     jmp rax
//  body:
//     movsxd rax, [r11 + 4 * k]
//     vbroadcastss ymm15, [rcx + rdx + 4 * k / 2]         names_values: movsxd rdx, [r11 + ...]
//     vfmadd231ps ymm0, ymm15, [rdi + rax]
//     ...
//     add r11, bytes of a body;  add rdx, 64;  add r9, 64;  sub r10, 1;  jns body
//     movsxd rax, [r11];  vmovups [rsi + rax], ymm0       (the same for the second row)
//     add r11, 8
//     jmp G
//
// The table of a group, in words of four bytes:
//
//     extra | values of each row two groups further on, and own, to prefetch where plans ask for it
//     | bias or own of each row | (stream, value) of each extra tap | entry | bodies | shift |
//     values of each row, less the taps before the entry | stream (and value) of each tap, row by
//     row | own of each row
//
// The order of any row's sum is that of the table, so results equal other families'.
#include <algorithm>
#include <array>
#include <map>

#include "emitters.h"
#include "table_rows.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Ymm;
using Xbyak::util::dword;
using Xbyak::util::rip;

const Ymm kValue(15);
const Ymm kZero(14);
const Xbyak::Reg64 kNamedValue = Xbyak::util::rdx;  // names_values, and for extra taps
constexpr int kWord = static_cast<int>(ChunkData::kWordBytes);
constexpr int kLine = 64;
constexpr size_t kGroupsAhead = 2;
constexpr auto kNear = Xbyak::CodeGenerator::T_NEAR;

// The values of a row of the group.
Xbyak::Reg64 row_values(int row) { return row == 0 ? Xbyak::util::rdx : Xbyak::util::r9; }

// The code of all chunks of one kind of block.
struct BlockCode {
  Stencil stencil;
  std::vector<int64_t> entry;  // by taps of each row; bytes from the first
};

class TableAccumulateEmitter {
 public:
  TableAccumulateEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        rows_(plan.rows_per_group),
        body_taps_(plan.taps_per_group),
        tap_bytes_(plan.names_values ? 2 * kWord : kWord),
        words_(table, plan) {}

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    const bool last = chunk.block + 1 == plan_.blocks;
    const BlockCode& code = block_code(chunk.block == 0, last);
    words_.begin_chunk(chunk);
    const std::vector<TableRow> rows = sorted_table_rows(table_, plan_, chunk, true);
    const std::vector<TableGroup> groups = group_table_rows(rows, rows_);
    for (size_t i = 0; i < groups.size(); ++i) {
      list_group(groups[i], groups[std::min(i + kGroupsAhead, groups.size() - 1)], code,
                 chunk.block == 0);
    }
    words_.word(-1);
    writer.stamp_with_data(code.stencil, words_.data());
  }

 private:
  Ymm sum(int row, int vector) const { return Ymm(row * plan_.vectors + vector); }
  size_t offset_of(int vector) const {
    return static_cast<size_t>(unrolled_vector_offset(plan_, vector));
  }

  const BlockCode& block_code(bool first, bool last) {
    const auto [at, is_new] = codes_.try_emplace(std::pair(first, last));
    if (is_new) at->second = assemble(first, last);
    return at->second;
  }

  BlockCode assemble(bool first, bool last) const {
    BlockCode code;
    StencilBuilder builder;
    auto& as = builder.as();
    Xbyak::Label group, end;
    as.lea(kTable, builder.data_slot());
    as.L(group);
    as.mov(kCount.cvt32(), dword[kTable]);
    as.test(kCount.cvt32(), kCount.cvt32());
    as.js(end, kNear);
    assemble_prefetches(as);
    assemble_begin(as, first);
    if (rows_ > 1) assemble_extra(as);
    assemble_bodies(as, code.entry);
    assemble_store(as, last);
    as.jmp(group, kNear);
    as.L(end);
    code.stencil = builder.finish();
    return code;
  }

  int prefetch_words() const { return plan_.prefetch == 0 ? 0 : 2 * rows_; }

  // The first values of rows further on, and where their sums go.
  void assemble_prefetches(Xbyak::CodeGenerator& as) const {
    for (int r = 0; r < prefetch_words(); ++r) {
      const bool values = r < rows_;
      as.movsxd(kOffset, dword[kTable + displacement(kWord * (1 + r))]);
      for (int line = 0; line < (values ? plan_.prefetch : (plan_.vectors + 1) / 2); ++line) {
        const Xbyak::RegExp at = (values ? kValues : kOwn) + kOffset + displacement(kLine * line);
        values ? as.prefetcht0(as.ptr[at]) : as.prefetchw(as.ptr[at]);
      }
    }
    if (plan_.prefetch != 0) as.add(kTable, kWord * prefetch_words());
  }

  void assemble_begin(Xbyak::CodeGenerator& as, bool first) const {
    for (int r = 0; r < rows_; ++r) {
      as.movsxd(kOffset, dword[kTable + displacement(kWord * (1 + r))]);
      if (first) as.vbroadcastss(sum(r, 0), as.ptr[kBias + kOffset]);
      for (int v = 0; v < plan_.vectors; ++v) {
        if (!first) {
          as.vmovups(sum(r, v), as.ptr[kOwn + kOffset + offset_of(v)]);
        } else if (v > 0) {
          as.vmovaps(sum(r, v), sum(r, 0));
        }
      }
    }
    as.add(kTable, kWord * (1 + rows_));
  }

  // Taps that the last row has more than the others.
  void assemble_extra(Xbyak::CodeGenerator& as) const {
    Xbyak::Label loop, run;
    as.test(kCount.cvt32(), kCount.cvt32());
    as.jz(run);
    as.L(loop);
    as.movsxd(kOffset, dword[kTable]);
    as.movsxd(kNamedValue, dword[kTable + kWord]);
    as.vbroadcastss(kValue, as.ptr[kValues + kNamedValue]);
    assemble_products(as, rows_ - 1);
    as.add(kTable, 2 * kWord);
    as.dec(kCount.cvt32());
    as.jnz(loop);
    as.L(run);
  }

  void assemble_products(Xbyak::CodeGenerator& as, int row) const {
    for (int v = 0; v < plan_.vectors; ++v) {
      as.vfmadd231ps(sum(row, v), kValue, as.ptr[kGathered + kOffset + offset_of(v)]);
    }
  }

  void assemble_bodies(Xbyak::CodeGenerator& as, std::vector<int64_t>& entry) const {
    Xbyak::Label body;
    as.lea(kNamedValue, as.ptr[rip + body]);
    as.movsxd(kOffset, dword[kTable]);
    as.add(kOffset, kNamedValue);
    as.movsxd(kCount, dword[kTable + kWord]);
    for (int r = 0; r < rows_ && !plan_.names_values; ++r) {
      as.movsxd(row_values(r), dword[kTable + displacement(kWord * (4 + r))]);
    }
    as.add(kTable, Xbyak::util::qword[kTable + displacement(2 * kWord)]);
    as.jmp(kOffset);
    as.align(16);
    as.L(body);
    const auto begin = static_cast<int64_t>(as.getSize());
    entry.resize(body_taps_ + 1);
    for (int k = 0; k < body_taps_; ++k) {
      entry[body_taps_ - k] = static_cast<int64_t>(as.getSize()) - begin;
      for (int r = 0; r < rows_; ++r) assemble_tap(as, k, r);
    }
    entry[0] = static_cast<int64_t>(as.getSize()) - begin;
    as.add(kTable, body_taps_ * rows_ * tap_bytes_);
    for (int r = 0; r < rows_ && !plan_.names_values; ++r) {
      as.add(row_values(r), body_taps_ * kFloatBytes);
    }
    as.sub(kCount, 1);
    as.jns(body, kNear);
  }

  void assemble_tap(Xbyak::CodeGenerator& as, int k, int row) const {
    const int at = (k * rows_ + row) * tap_bytes_;
    as.movsxd(kOffset, dword[kTable + at]);
    if (plan_.names_values) {
      as.movsxd(kNamedValue, dword[kTable + at + kWord]);
      as.vbroadcastss(kValue, as.ptr[kValues + kNamedValue]);
    } else {
      as.vbroadcastss(kValue, as.ptr[kValues + row_values(row) + displacement(k * kFloatBytes)]);
    }
    assemble_products(as, row);
  }

  void assemble_store(Xbyak::CodeGenerator& as, bool last) const {
    const bool relu = last && plan_.relu;
    if (relu) as.vxorps(kZero, kZero, kZero);
    for (int r = 0; r < rows_; ++r) {
      as.movsxd(kOffset, dword[kTable + displacement(kWord * r)]);
      for (int v = 0; v < plan_.vectors; ++v) {
        if (relu) as.vmaxps(sum(r, v), kZero, sum(r, v));
        as.vmovups(as.ptr[kOwn + kOffset + offset_of(v)], sum(r, v));
      }
    }
    as.add(kTable, kWord * rows_);
  }

  void list_group(const TableGroup& group, const TableGroup& ahead, const BlockCode& code,
                  bool first) {
    const int64_t common = group[0].count();
    const int64_t extra = group[rows_ - 1].count() - common;
    words_.word(extra);
    if (plan_.prefetch != 0) list_prefetches(ahead);
    for (int r = 0; r < rows_; ++r) {
      first ? words_.bias(group[r].row) : words_.own(group[r].row);
    }
    const TableRow& longest = group[rows_ - 1];
    for (int64_t i = 0; i < extra; ++i) list_tap(longest, longest.taps.begin + i, true);
    // Rows enter with 1 to body_taps_ taps, or none if they have none.
    const int64_t bodies = common == 0 ? 0 : (common - 1) / body_taps_;
    const int64_t entered = common - bodies * body_taps_;
    const int64_t before = body_taps_ - entered;
    const int64_t header = plan_.names_values ? 4 : 4 + rows_;
    words_.word(code.entry[entered]);
    words_.word(bodies);
    words_.long_word(header * kWord - before * rows_ * tap_bytes_);
    for (int r = 0; r < rows_ && !plan_.names_values; ++r) {
      list_values(group[r].row, {group[r].taps.end - common, group[r].taps.end}, before);
    }
    for (int64_t i = 0; i < common; ++i) {
      for (int r = 0; r < rows_; ++r) {
        list_tap(group[r], group[r].taps.end - common + i, plan_.names_values);
      }
    }
    for (int r = 0; r < rows_; ++r) words_.own(group[r].row);
  }

  void list_prefetches(const TableGroup& ahead) {
    for (int r = 0; r < rows_; ++r) {
      const TapRange& taps = ahead[r].taps;
      words_.word(taps.begin == taps.end ? 0 : words_.value_offset(taps.begin));
    }
    for (int r = 0; r < rows_; ++r) words_.word(words_.own_offset(ahead[r].row));
  }

  void list_values(int64_t row, TapRange taps, int64_t before) {
    if (taps.begin == taps.end) {
      words_.word(0);
    } else {
      words_.value(row, taps.begin, before);
    }
  }

  void list_tap(const TableRow& row, int64_t tap, bool with_value) {
    words_.gathered(row.row, tap);
    if (with_value) words_.value(row.row, tap);
  }

  const TapTable& table_;
  const Plan& plan_;
  const int rows_;
  const int body_taps_;  // of each row
  const int tap_bytes_;  // of the table
  TableWords words_;
  std::map<std::pair<bool, bool>, BlockCode> codes_;  // by first, last block
};

}  // namespace

ChunkEmitter make_table_accumulate_emitter(const TapTable& table, const Plan& plan) {
  return TableAccumulateEmitter(table, plan);
}

}  // namespace sparsejit
