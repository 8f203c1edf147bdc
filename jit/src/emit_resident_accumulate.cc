// Accumulate, resident family: forward, or dx alone, of short streams, no loop.
//
// The accumulators of rows_per_group rows (all vectors of each) stay in registers while the taps
// of these rows execute, merged in source order. A source that several rows use is loaded once.
// Two rows, one vector, taps row 0: s4, row 1: s4 s7:
//
//     vbroadcastss ymm0, [r8 + bias0]          accumulator of row 0
//     vbroadcastss ymm1, [r8 + bias1]          accumulator of row 1
//     vmovups ymm2, [rdi + s4]                  shared source
//     vbroadcastss ymm15, [rcx + value0]
//     vfmadd231ps ymm0, ymm15, ymm2
//     vbroadcastss ymm15, [rcx + value1]
//     vfmadd231ps ymm1, ymm15, ymm2
//     vbroadcastss ymm15, [rcx + value2]        s7 has one user: straight from memory
//     vfmadd231ps ymm1, ymm15, [rdi + s7]
//     vmovups [rsi + own0], ymm0
//     vmovups [rsi + own1], ymm1
//
// With ReLU each accumulator is stored after vmaxps with zeros in ymm15; a NaN stays.
//
// With AVX-512 there are 32 registers of twice the lanes. Where a stream is one vector, each source
// is loaded once and a tap is one instruction, vfmadd231ps zmm0, zmm8, [rcx + value0]{1to16}.
//
// The last vector of a stream ends where the stream ends: if the length is no multiple of the lanes
// it overlaps the one before, and both compute the same bits.
//
// Merging does not change the order of any row's sum, so results equal the stream family's.
#include <algorithm>

#include "emitters.h"
#include "merged_taps.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;

class ResidentAccumulateEmitter {
 public:
  ResidentAccumulateEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        operands_(table, plan),
        gathered_(plan),
        value_(last_vector_register(plan)),
        load_shared_(make_load_shared()) {
    for (int row = 0; row < plan.rows_per_group; ++row) {
      begin_.push_back(make_biased_sums(plan, row * plan.vectors));
      direct_.push_back(make_tap(row, false));
      shared_.push_back(make_tap(row, true));
      store_.push_back(make_store(row));
    }
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    operands_.begin_chunk(chunk);
    const int64_t end = plan_.part_begin[chunk.part + 1];
    for (int64_t row = plan_.part_begin[chunk.part]; row < end; row += plan_.rows_per_group) {
      emit_rows(writer, row, static_cast<int>(std::min<int64_t>(plan_.rows_per_group, end - row)));
    }
  }

 private:
  Xmm accumulator(int row, int vector) const {
    return vector_register(plan_, row * plan_.vectors + vector);
  }
  Xmm shared(int vector) const { return accumulator(plan_.rows_per_group, vector); }

  Stencil make_load_shared() const {
    StencilBuilder builder;
    if (plan_.rows_per_group > 1) {
      gathered_.begin(builder);
      for (int v = 0; v < plan_.vectors; ++v) {
        builder.as().vmovups(shared(v), gathered_.vector(builder, v));
      }
    }
    return builder.finish();
  }

  Stencil make_tap(int row, bool from_shared) const {
    StencilBuilder builder;
    auto& as = builder.as();
    if (from_shared && plan_.rows_per_group == 1) return builder.finish();
    if (embeds_values(plan_)) {
      as.vfmadd231ps(accumulator(row, 0), shared(0), builder.broadcast_slot(kValues));
      return builder.finish();
    }
    as.vbroadcastss(value_, builder.slot(kValues));
    if (!from_shared) gathered_.begin(builder);
    for (int v = 0; v < plan_.vectors; ++v) {
      if (from_shared) {
        as.vfmadd231ps(accumulator(row, v), value_, shared(v));
      } else {
        as.vfmadd231ps(accumulator(row, v), value_, gathered_.vector(builder, v));
      }
    }
    return builder.finish();
  }

  Stencil make_store(int row) const {
    StencilBuilder builder;
    auto& as = builder.as();
    if (plan_.relu) emit_zero(as, value_);
    for (int v = 0; v < plan_.vectors; ++v) {
      const Xmm sum = accumulator(row, v);
      if (plan_.relu) as.vmaxps(sum, value_, sum);
      as.vmovups(builder.slot(kOwn), sum);
    }
    return builder.finish();
  }

  void emit_rows(CodeWriter& writer, int64_t first_row, int rows) {
    for (int r = 0; r < rows; ++r) {
      operands_.clear();
      operands_.bias(first_row + r);
      writer.stamp(begin_[r], operands_.list());
    }
    merge_rows(table_, plan_, {.first_row = first_row, .rows = rows, .block = 0}, merged_);
    for (size_t at = 0; at < merged_.size();) at = emit_source(writer, first_row, at);
    for (int r = 0; r < rows; ++r) {
      operands_.clear();
      for (int v = 0; v < plan_.vectors; ++v) operands_.own(first_row + r, v);
      writer.stamp(store_[r], operands_.list());
    }
  }

  // All taps that read the source at `at`; returns the position of the next source.
  size_t emit_source(CodeWriter& writer, int64_t first_row, size_t at) {
    const size_t end = same_source_end(merged_, at);
    const bool share = end - at > 1 || embeds_values(plan_);
    if (share) stamp_sources(writer, load_shared_, first_row + merged_[at].row, merged_[at].tap);
    for (; at < end; ++at) {
      const MergedTap& tap = merged_[at];
      const int64_t row = first_row + tap.row;
      operands_.clear();
      operands_.value(row, tap.tap);
      if (share) {
        writer.stamp(shared_[tap.row], operands_.list());
      } else {
        add_gathered(row, tap.tap);
        writer.stamp(direct_[tap.row], operands_.list());
      }
    }
    return end;
  }

  void stamp_sources(CodeWriter& writer, const Stencil& stencil, int64_t row, int64_t tap) {
    operands_.clear();
    add_gathered(row, tap);
    writer.stamp(stencil, operands_.list());
  }

  // The slots of gathered_.
  void add_gathered(int64_t row, int64_t tap) {
    for (int v = 0; v < gathered_.slots(); ++v) operands_.gathered(row, tap, v);
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  GatheredStream gathered_;
  const Xmm value_;  // or zeros
  Stencil load_shared_;
  std::vector<Stencil> begin_;  // by row within the group
  std::vector<Stencil> direct_;
  std::vector<Stencil> shared_;
  std::vector<Stencil> store_;
  std::vector<MergedTap> merged_;
};

}  // namespace

ChunkEmitter make_resident_accumulate_emitter(const TapTable& table, const Plan& plan) {
  return ResidentAccumulateEmitter(table, plan);
}

}  // namespace sparsejit
