// Accumulate, tiled family: forward, or dx alone, over tables without shifts.
//
// The code of a chunk is the body of a loop over tiles. Inside, rows_per_group rows at a time keep
// their sums of one tile in registers while the taps of these rows in one block execute, merged in
// source order, as in the resident family. Two rows, a tile of one vector, first of two blocks:
//
//  L: vbroadcastss ymm0, [r8 + bias0]           later blocks: vmovups ymm0, [rdx + partial0]
//     vbroadcastss ymm1, [r8 + bias1]
//     vbroadcastf128 ymm10, [rcx + value0]      four values of row 0
//     vpermilps ymm15, ymm10, 0                 the first of them in all lanes
//     vfmadd231ps ymm0, ymm15, [rdi + s4]
//     prefetcht0 [rdi + s1 of the next tile]
//     ...
//     vmovups [rdx + partial0], ymm0            last block, unless own_in_tiles: [rsi + own0]
//     vmovups [rdx + partial1], ymm1
//     add rdi, bytes of a tile of the block; add rsi, 64; add rdx, bytes of a tile of sums
//     sub r9, 64
//     jg L
//
// A source that several rows use is loaded once, into ymm8 on. Values come four to a load where the
// table has them side by side, all inside of the part; others one by one, into ymm15. With ReLU the
// last block stores vmaxps of zeros in ymm15 and the sum; a NaN stays.
//
// With AVX-512 a tile is one vector, each source is loaded once for the group's 24 rows, and a tap
// is one instruction, vfmadd231ps zmm0, zmm24, [rcx + value0]{1to16}.
//
// Prefetches of the next tile, and of the places where the last block will write, are spread over
// the taps. Beyond the last tile they fetch in vain, which is harmless.
#include <algorithm>

#include "emitters.h"
#include "merged_taps.h"

namespace sparsejit {
namespace {

using namespace registers;
using Xbyak::Xmm;

constexpr int kTileBytes = static_cast<int>(kTileFloats) * kFloatBytes;

// Where a tap of a row has its value.
struct ValueSource {
  bool loads = false;  // this tap fetches the group's values
  int lane = -1;       // of the group's register; -1: fetched alone
};

class TiledAccumulateEmitter {
 public:
  TiledAccumulateEmitter(const TapTable& table, const Plan& plan)
      : table_(table),
        plan_(plan),
        operands_(table, plan),
        value_(last_vector_register(plan)),
        load_shared_(make_load_shared()),
        prefetch_gathered_(make_prefetch(false)),
        prefetch_own_(make_prefetch(true)),
        loop_end_(make_loop_end()),
        seen_(plan.rows_per_group) {
    for (int row = 0; row < plan.rows_per_group; ++row) {
      begin_.push_back(make_biased_sums(plan, row * plan.vectors));
      resume_.push_back(make_resume(row));
      if (!embeds_values(plan)) load_values_.push_back(make_load_values(row));
      for (int lane = -1; lane < plan.taps_per_group; ++lane) {
        direct_.push_back(make_tap(row, lane, false));
        shared_.push_back(make_tap(row, lane, true));
      }
      for (const bool last : {false, true}) store_.push_back(make_store(row, last));
    }
  }

  void operator()(CodeWriter& writer, const Chunk& chunk) {
    operands_.begin_chunk(chunk);
    chunk_ = &chunk;
    list_prefetches();
    emitted_taps_ = 0;
    const int64_t loop = writer.position();
    const int64_t end = plan_.part_begin[chunk.part + 1];
    for (int64_t row = part_first(); row < end; row += plan_.rows_per_group) {
      emit_rows(writer, row, static_cast<int>(std::min<int64_t>(plan_.rows_per_group, end - row)));
    }
    emit_prefetches(writer, prefetches_.size());
    const auto size = static_cast<int64_t>(loop_end_.bytes.size());
    operands_.clear();
    operands_.loop(loop - writer.position() - size);
    writer.stamp(loop_end_, operands_.list());
  }

 private:
  bool is_last() const { return chunk_->block + 1 == plan_.blocks; }
  int64_t part_first() const { return plan_.part_begin[chunk_->part]; }

  Xmm accumulator(int row, int vector) const {
    return vector_register(plan_, row * plan_.vectors + vector);
  }
  Xmm shared(int vector) const { return accumulator(plan_.rows_per_group, vector); }
  Xmm values(int row) const { return vector_register(plan_, shared(plan_.vectors).getIdx() + row); }

  Stencil make_resume(int row) const {
    StencilBuilder builder;
    for (int v = 0; v < plan_.vectors; ++v) {
      builder.as().vmovups(accumulator(row, v), builder.slot(kPartial));
    }
    return builder.finish();
  }

  Stencil make_load_shared() const {
    StencilBuilder builder;
    for (int v = 0; v < plan_.vectors; ++v) {
      builder.as().vmovups(shared(v), builder.slot(kGathered));
    }
    return builder.finish();
  }

  Stencil make_load_values(int row) const {
    StencilBuilder builder;
    builder.as().vbroadcastf128(Xbyak::Ymm(values(row).getIdx()), builder.slot(kValues));
    return builder.finish();
  }

  Stencil make_tap(int row, int lane, bool from_shared) const {
    StencilBuilder builder;
    auto& as = builder.as();
    if (embeds_values(plan_)) {
      as.vfmadd231ps(accumulator(row, 0), shared(0), builder.broadcast_slot(kValues));
      return builder.finish();
    }
    if (lane < 0) {
      as.vbroadcastss(value_, builder.slot(kValues));
    } else {
      as.vpermilps(value_, values(row), static_cast<uint8_t>(lane * 0b01010101));
    }
    for (int v = 0; v < plan_.vectors; ++v) {
      if (from_shared) {
        as.vfmadd231ps(accumulator(row, v), value_, shared(v));
      } else {
        as.vfmadd231ps(accumulator(row, v), value_, builder.slot(kGathered));
      }
    }
    return builder.finish();
  }

  Stencil make_store(int row, bool last) const {
    StencilBuilder builder;
    auto& as = builder.as();
    const bool relu = last && plan_.relu;
    if (relu) emit_zero(as, value_);
    for (int v = 0; v < plan_.vectors; ++v) {
      const Xmm sum = accumulator(row, v);
      if (relu) as.vmaxps(sum, value_, sum);
      as.vmovups(builder.slot(last && !plan_.own_in_tiles ? kOwn : kPartial), sum);
    }
    return builder.finish();
  }

  static Stencil make_prefetch(bool own) {
    StencilBuilder builder;
    if (own) {
      builder.as().prefetchw(builder.slot(kOwn));
    } else {
      builder.as().prefetcht0(builder.slot(kGathered));
    }
    return builder.finish();
  }

  Stencil make_loop_end() const {
    StencilBuilder builder;
    auto& as = builder.as();
    as.add(kGathered, static_cast<int>(plan_.block_streams) * kTileBytes);
    as.add(kOwn, kTileBytes);
    as.add(kPartial, static_cast<int>(plan_.most_rows()) * kTileBytes);
    as.sub(kBytes, kTileBytes);
    builder.jump_if_greater();
    return builder.finish();
  }

  void emit_rows(CodeWriter& writer, int64_t first_row, int rows) {
    const RowGroup group{.first_row = first_row, .rows = rows, .block = chunk_->block};
    merge_rows(table_, plan_, group, merged_);
    std::fill(seen_.begin(), seen_.end(), 0);
    for (int r = 0; r < rows; ++r) emit_begin(writer, first_row + r, r);
    for (size_t at = 0; at < merged_.size();) at = emit_source(writer, first_row, at);
    for (int r = 0; r < rows; ++r) emit_store(writer, first_row + r, r);
  }

  // Between blocks a row without taps is left as it is.
  bool skips(int64_t row) const {
    if (chunk_->block == 0 || is_last()) return false;
    const TapRange taps = block_range(table_, plan_, row, chunk_->block);
    return taps.begin == taps.end;
  }

  void emit_begin(CodeWriter& writer, int64_t row, int r) {
    if (skips(row)) return;
    operands_.clear();
    if (chunk_->block == 0) {
      operands_.bias(row);
      writer.stamp(begin_[r], operands_.list());
      return;
    }
    for (int v = 0; v < plan_.vectors; ++v) operands_.partial(row, v);
    writer.stamp(resume_[r], operands_.list());
  }

  void emit_store(CodeWriter& writer, int64_t row, int r) {
    if (skips(row)) return;
    operands_.clear();
    for (int v = 0; v < plan_.vectors; ++v) {
      if (is_last() && !plan_.own_in_tiles) {
        operands_.own(row, v);
      } else {
        operands_.partial(row, v);
      }
    }
    writer.stamp(store_[2 * r + (is_last() ? 1 : 0)], operands_.list());
  }

  // All taps that read the source at `at`; returns the position of the next source.
  size_t emit_source(CodeWriter& writer, int64_t first_row, size_t at) {
    const size_t end = same_source_end(merged_, at);
    const bool share = end - at > 1 || embeds_values(plan_);
    if (share) {
      operands_.clear();
      add_gathered(first_row + merged_[at].row, merged_[at].tap);
      writer.stamp(load_shared_, operands_.list());
    }
    for (; at < end; ++at) {
      emit_tap(writer, first_row + merged_[at].row, merged_[at], share);
      ++emitted_taps_;
      emit_prefetches(writer, prefetches_.size() * emitted_taps_ / chunk_->taps);
    }
    return end;
  }

  void emit_tap(CodeWriter& writer, int64_t row, const MergedTap& tap, bool share) {
    const ValueSource source = next_value(row, tap);
    if (source.loads) {
      operands_.clear();
      operands_.value(row, tap.tap);
      writer.stamp(load_values_[tap.row], operands_.list());
    }
    operands_.clear();
    if (source.lane < 0) operands_.value(row, tap.tap);
    if (!share) add_gathered(row, tap.tap);
    const auto& stencils = share ? shared_ : direct_;
    writer.stamp(stencils[tap.row * (plan_.taps_per_group + 1) + source.lane + 1],
                 operands_.list());
  }

  ValueSource next_value(int64_t row, const MergedTap& tap) {
    const int group = plan_.taps_per_group;
    const int lane = seen_[tap.row]++ % group;
    const int64_t first = tap.tap - lane;
    const int64_t used =
        std::min<int64_t>(group, block_range(table_, plan_, row, chunk_->block).end - first);
    // What is fetched beyond the taps of this block belongs to the part, too.
    const bool inside = first + group <= table_.row_begin[plan_.part_begin[chunk_->part + 1]];
    if (used < 2 || !inside || !operands_.are_contiguous(first, group)) return {};
    return {.loads = lane == 0, .lane = lane};
  }

  void add_gathered(int64_t row, int64_t tap) {
    for (int v = 0; v < plan_.vectors; ++v) operands_.gathered(row, tap, v);
  }

  struct Prefetch {
    bool own;
    int64_t offset;
  };

  // One a stream that the chunk reads and, where the sums are complete, one a row.
  void list_prefetches() {
    prefetches_.clear();
    emitted_prefetches_ = 0;
    std::vector<bool> reads(static_cast<size_t>(plan_.block_streams), false);
    for (int64_t row = part_first(); row < plan_.part_begin[chunk_->part + 1]; ++row) {
      const TapRange taps = block_range(table_, plan_, row, chunk_->block);
      for (int64_t i = taps.begin; i < taps.end; ++i) {
        const int64_t stream = table_.taps[i].stream - chunk_->block * plan_.block_streams;
        reads[static_cast<size_t>(stream)] = true;
      }
    }
    for (int64_t s = 0; s < plan_.block_streams; ++s) {
      if (reads[static_cast<size_t>(s)])
        prefetches_.push_back({false, (plan_.block_streams + s) * kTileBytes});
    }
    if (!is_last() || plan_.own_in_tiles) return;
    for (int64_t row = part_first(); row < plan_.part_begin[chunk_->part + 1]; ++row) {
      prefetches_.push_back({true, row * plan_.pitches.own * kFloatBytes + kTileBytes});
    }
  }

  void emit_prefetches(CodeWriter& writer, size_t count) {
    if (chunk_->taps == 0) return;
    while (emitted_prefetches_ < count) {
      const Prefetch& prefetch = prefetches_[emitted_prefetches_++];
      operands_.clear();
      operands_.prefetch(prefetch.offset);
      writer.stamp(prefetch.own ? prefetch_own_ : prefetch_gathered_, operands_.list());
    }
  }

  const TapTable& table_;
  const Plan& plan_;
  Operands operands_;
  const Xmm value_;  // or zeros
  Stencil load_shared_;
  Stencil prefetch_gathered_;
  Stencil prefetch_own_;
  Stencil loop_end_;
  std::vector<int> seen_;       // taps of each row of the group so far
  std::vector<Stencil> begin_;  // these by row within the group
  std::vector<Stencil> resume_;
  std::vector<Stencil> load_values_;
  std::vector<Stencil> direct_;  // by (taps_per_group + 1) * row + lane + 1
  std::vector<Stencil> shared_;
  std::vector<Stencil> store_;  // by 2 * row + last block
  std::vector<MergedTap> merged_;
  const Chunk* chunk_ = nullptr;
  std::vector<Prefetch> prefetches_;
  size_t emitted_prefetches_ = 0;
  size_t emitted_taps_ = 0;
};

}  // namespace

ChunkEmitter make_tiled_accumulate_emitter(const TapTable& table, const Plan& plan) {
  return TiledAccumulateEmitter(table, plan);
}

}  // namespace sparsejit
