// emit_kernel: the list of steps from a plan to bytes, and the pieces all emitters share.
#include "sparsejit/emit.h"

#include <algorithm>
#include <cstddef>

#include "emitters.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

ChunkEmitter make_emitter(const TapTable& table, const Plan& plan) {
  const bool accumulate = plan.kind == KernelKind::accumulate;
  if (plan.family == KernelFamily::tiled) return make_tiled_accumulate_emitter(table, plan);
  if (plan.family == KernelFamily::strip) return make_strip_sums_emitter(table, plan);
  if (plan.family == KernelFamily::table) {
    return accumulate ? make_table_accumulate_emitter(table, plan)
                      : make_table_sums_emitter(table, plan);
  }
  if (plan.family == KernelFamily::stream) {
    return accumulate ? make_stream_accumulate_emitter(table, plan)
                      : make_stream_products_emitter(table, plan);
  }
  SPARSEJIT_CHECK(plan.kind != KernelKind::fused, ==, true);
  return accumulate ? make_resident_accumulate_emitter(table, plan)
                    : make_resident_products_emitter(table, plan);
}

// Loads the arguments. Stream kernels count an index from -bytes up to 0, so their pointers move
// to where the loop ends.
//
//     mov rsi, [rdi + own] ... mov rdi, [rdi + gathered]
//     add rdi, r9;  add rsi, r9;  add rdx, r9;  neg r9        stream family only
//
// Tiled kernels have nothing paired: the register holds the sums between blocks.
Stencil make_entry(const Plan& plan) {
  using namespace registers;
  StencilBuilder builder;
  auto& as = builder.as();
  const auto load = [&](const Xbyak::Reg64& into, size_t field) {
    as.mov(into, as.ptr[kArguments + field]);
  };
  const bool stream = plan.family == KernelFamily::stream;
  const bool tiled = plan.family == KernelFamily::tiled;
  const bool strip = plan.family == KernelFamily::strip;
  load(kOwn, offsetof(KernelArguments, own));
  load(kPaired, tiled ? offsetof(KernelArguments, partial) : offsetof(KernelArguments, paired));
  load(kValues, offsetof(KernelArguments, values));
  load(kBias, offsetof(KernelArguments, start_or_d_values));
  if (plan.tail && plan.family != KernelFamily::table) {
    load(kTail, offsetof(KernelArguments, tail_offset));
    load(kTailMask, offsetof(KernelArguments, tail_mask));
  }
  if (stream || tiled || strip) load(kBytes, offsetof(KernelArguments, loop_bytes));
  load(kGathered, offsetof(KernelArguments, gathered));
  if (stream) {
    for (const auto& pointer : {kGathered, kOwn, kPaired}) as.add(pointer, kBytes);
    as.neg(kBytes);
  }
  return builder.finish();
}

Stencil make_return() {
  StencilBuilder builder;
  builder.as().vzeroupper();
  builder.as().ret();
  return builder.finish();
}

// With an eighth to spare.
int64_t expected_bytes(const Plan& plan, const std::vector<bool>* only) {
  const int64_t all = plan.code_bytes_estimate + plan.code_bytes_estimate / 8;
  if (only == nullptr) return all;
  int64_t taps = 0;
  for (size_t i = 0; i < only->size(); ++i) taps += (*only)[i] ? plan.chunks[i].taps : 0;
  const double share =
      static_cast<double>(taps) / static_cast<double>(std::max<int64_t>(1, plan.part_taps.back()));
  return static_cast<int64_t>(share * static_cast<double>(all));
}

}  // namespace

const char* to_text(NoteKind kind) {
  switch (kind) {
    case NoteKind::value:
      return "value";
    case NoteKind::bias:
      return "bias";
    case NoteKind::gathered:
      return "gathered";
    case NoteKind::own:
      return "own";
    case NoteKind::paired:
      return "paired";
    case NoteKind::d_value:
      return "d_value";
    case NoteKind::partial:
      return "partial";
    case NoteKind::prefetch:
      return "prefetch";
    case NoteKind::loop:
      return "loop";
  }
  return "?";
}

int64_t unrolled_vector_offset(const Plan& plan, int vector) {
  const bool whole = plan.family == KernelFamily::resident || plan.family == KernelFamily::table;
  const int64_t vector_bytes = int64_t{plan.lanes} * kFloatBytes;
  if (whole && vector == plan.vectors - 1) return plan.panel * kFloatBytes - vector_bytes;
  return vector * vector_bytes;
}

void GatheredStream::begin(StencilBuilder& builder) const {
  using namespace registers;
  if (uses_lea()) builder.as().lea(kSource, builder.slot(kGathered));
}

Xbyak::Address GatheredStream::vector(StencilBuilder& builder, int vector) const {
  using namespace registers;
  if (!uses_lea()) return builder.slot(kGathered);
  return builder.as().ptr[kSource + static_cast<size_t>(unrolled_vector_offset(plan_, vector))];
}

void emit_zero(Xbyak::CodeGenerator& as, const Xbyak::Xmm& vector) {
  if (vector.isZMM()) {
    as.vpxord(vector, vector, vector);
  } else {
    as.vxorps(vector, vector, vector);
  }
}

Stencil make_biased_sums(const Plan& plan, int first) {
  StencilBuilder builder;
  auto& as = builder.as();
  const Xbyak::Xmm sum = vector_register(plan, first);
  as.vbroadcastss(sum, builder.slot(registers::kBias));
  for (int v = 1; v < plan.vectors; ++v) as.vmovaps(vector_register(plan, first + v), sum);
  return builder.finish();
}

void Operands::gathered(int64_t row, int64_t tap, int vector) {
  const Tap& t = table_.taps[tap];
  const int64_t floats = (t.stream - first_stream_) * plan_.pitches.gathered + t.shift;
  add(floats * kFloatBytes + vector_offset(vector), NoteKind::gathered, row, tap);
}

void Operands::begin_chunk(const Chunk& chunk) {
  value_base_ = chunk.value_base;
  const bool tiled = plan_.family == KernelFamily::tiled;
  first_stream_ = tiled ? chunk.block * plan_.block_streams : 0;
  first_row_ = plan_.part_begin[chunk.part];
}

void Operands::own(int64_t row, int vector) {
  add(row * plan_.pitches.own * kFloatBytes + vector_offset(vector), NoteKind::own, row, -1);
}

void Operands::paired(int64_t row, int vector) {
  add(row * plan_.pitches.paired * kFloatBytes + vector_offset(vector), NoteKind::paired, row, -1);
}

void emit_stream_loop(Xbyak::CodeGenerator& as, const std::function<void()>& body) {
  using namespace registers;
  Xbyak::Label loop;
  as.mov(kIndex, kBytes);
  as.L(loop);
  body();
  as.add(kIndex, kVectorBytes);
  as.jl(loop);
}

void emit_lane_sums(Xbyak::CodeGenerator& as, int first, int count, Xbyak::Ymm into,
                    Xbyak::Ymm scratch) {
  const auto sum = [&](int i) { return Xbyak::Ymm(first + std::min(i, count - 1)); };
  as.vhaddps(into, sum(0), sum(1));
  if (count > 2) {
    as.vhaddps(scratch, sum(2), sum(3));
    as.vhaddps(into, into, scratch);
  } else {
    as.vhaddps(into, into, into);
  }
  as.vextractf128(Xbyak::Xmm(scratch.getIdx()), into, 1);
  as.vaddps(Xbyak::Xmm(into.getIdx()), Xbyak::Xmm(into.getIdx()), Xbyak::Xmm(scratch.getIdx()));
}

void emit_store_sums(StencilBuilder& builder, int count, Xbyak::Xmm sums, bool contiguous) {
  auto& as = builder.as();
  using registers::kDValues;
  if (!contiguous) {
    as.vmovss(builder.slot(kDValues), sums);
    for (int i = 1; i < count; ++i) as.vextractps(builder.slot(kDValues), sums, i);
    return;
  }
  if (count == 4) as.vmovups(builder.slot(kDValues), sums);
  if (count == 2 || count == 3) as.vmovlps(builder.slot(kDValues), sums);
  if (count == 3) as.vextractps(builder.slot(kDValues), sums, 2);
  if (count == 1) as.vmovss(builder.slot(kDValues), sums);
}

void Operands::stored_sums(int64_t row, int64_t tap, int count, bool contiguous) {
  if (!contiguous) {
    for (int i = 0; i < count; ++i) d_value(row, tap + i);
    return;
  }
  d_value(row, tap);
  if (count == 3) d_value(row, tap + 2);
}

bool Operands::are_contiguous(int64_t tap, int count) const {
  for (int i = 1; i < count; ++i) {
    if (value_offset(tap + i) != value_offset(tap) + int64_t{i} * kFloatBytes) return false;
  }
  return true;
}

EmitResult emit_kernel(const TapTable& table, const Plan& plan, const EmitOptions& options) {
  KernelCode code;
  code.bytes.reserve(expected_bytes(plan, options.only));
  CodeWriter writer(code, options);
  const Stencil entry = make_entry(plan);
  const Stencil exit = make_return();
  const ChunkEmitter emit_chunk = make_emitter(table, plan);
  for (size_t i = 0; i < plan.chunks.size(); ++i) {
    writer.begin_chunk();
    if (options.only == nullptr || (*options.only)[i]) {
      writer.stamp(entry, {});
      emit_chunk(writer, plan.chunks[i]);
      writer.stamp(exit, {});
    }
    writer.end_chunk();
  }
  writer.end_chunks();
  if (!writer.fits()) {
    return {.code = std::nullopt,
            .reason = fmt::format("an offset of {} bytes does not fit a 31-bit displacement",
                                  writer.bad_offset())};
  }
  return {.code = std::move(code), .reason = {}};
}

}  // namespace sparsejit
