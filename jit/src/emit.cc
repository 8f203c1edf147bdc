// emit_kernel: the list of steps from a plan to bytes, and the pieces all emitters share.
#include "sparsejit/emit.h"

#include "emitters.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

ChunkEmitter make_emitter(const TapTable& table, const Plan& plan) {
  const bool forward = plan.pass == Pass::forward;
  if (plan.family == KernelFamily::stream) {
    return forward ? make_stream_forward_emitter(table, plan)
                   : make_stream_backward_emitter(table, plan);
  }
  return forward ? make_resident_forward_emitter(table, plan)
                 : make_resident_backward_emitter(table, plan);
}

// Stream kernels count an index from -bytes up to 0, so operand pointers move to the panel's end.
//
//     add rdi, r8;  add rsi, r8;  neg r8
Stencil make_entry(const Plan& plan) {
  StencilBuilder builder;
  auto& as = builder.as();
  if (plan.family == KernelFamily::stream && plan.pass == Pass::forward) {
    using namespace forward_registers;
    as.add(kGathered, kBytes);
    as.add(kOwn, kBytes);
    as.neg(kBytes);
  } else if (plan.family == KernelFamily::stream) {
    using namespace backward_registers;
    as.add(kGathered, kBytes);
    as.add(kOwn, kBytes);
    as.add(kPaired, kBytes);
    as.neg(kBytes);
  }
  return builder.finish(16);
}

Stencil make_return() {
  StencilBuilder builder;
  builder.as().vzeroupper();
  builder.as().ret();
  return builder.finish();
}

}  // namespace

void Operands::gathered(int64_t row, int64_t tap, int vector) {
  const Tap& t = table_.taps[tap];
  const int64_t floats = t.stream * plan_.pitches.gathered + t.shift;
  add(floats * kFloatBytes + vector * kVectorBytes, NoteKind::gathered, row, tap);
}

void Operands::own(int64_t row, int vector) {
  add(row * plan_.pitches.own * kFloatBytes + vector * kVectorBytes, NoteKind::own, row, -1);
}

void Operands::paired(int64_t row, int vector) {
  add(row * plan_.pitches.paired * kFloatBytes + vector * kVectorBytes, NoteKind::paired, row, -1);
}

void emit_lane_sums(Xbyak::CodeGenerator& as, std::span<const Xbyak::Ymm> sums, Xbyak::Ymm into,
                    Xbyak::Ymm scratch) {
  const size_t count = sums.size();
  as.vhaddps(into, sums[0], sums[count > 1 ? 1 : 0]);
  if (count > 2) {
    as.vhaddps(scratch, sums[2], sums[count > 3 ? 3 : 2]);
    as.vhaddps(into, into, scratch);
  } else {
    as.vhaddps(into, into, into);
  }
  as.vextractf128(Xbyak::Xmm(scratch.getIdx()), into, 1);
  as.vaddps(Xbyak::Xmm(into.getIdx()), Xbyak::Xmm(into.getIdx()), Xbyak::Xmm(scratch.getIdx()));
}

EmitResult emit_kernel(const TapTable& table, const Plan& plan, const EmitOptions& options) {
  KernelCode code;
  code.bytes.reserve(plan.code_bytes_estimate + plan.code_bytes_estimate / 8);
  CodeWriter writer(code, options);
  const Stencil entry = make_entry(plan);
  const Stencil exit = make_return();
  const ChunkEmitter emit_chunk = make_emitter(table, plan);
  for (const Chunk& chunk : plan.chunks) {
    writer.begin_chunk();
    writer.stamp(entry, {});
    emit_chunk(writer, chunk);
    writer.stamp(exit, {});
  }
  code.chunk_begin.push_back(static_cast<int64_t>(code.bytes.size()));
  if (!writer.fits()) {
    return {.code = std::nullopt,
            .reason = fmt::format("an offset of {} bytes does not fit a 31-bit displacement",
                                  writer.bad_offset())};
  }
  return {.code = std::move(code), .reason = {}};
}

}  // namespace sparsejit
