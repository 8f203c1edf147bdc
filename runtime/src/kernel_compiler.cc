// See kernel_compiler.h.
#include "kernel_compiler.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Fewer taps than this are emitted by one thread: about 0.2 ms of work.
constexpr int64_t kMinSharedTaps = 10'000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t taps_of(const Plan& plan, const std::vector<bool>& chunks) {
  int64_t taps = 0;
  for (size_t i = 0; i < chunks.size(); ++i) taps += chunks[i] ? plan.chunks[i].taps : 0;
  return taps;
}

const TapTable& table_of(const LoweredLayer& lowered, Pass side, const Plan& plan) {
  return lowered.table(side, plan.unshifted());
}

// Which chunks to emit. Shared pieces live as long as any kernel that uses a chunk of them, so
// sharing has to be worth it: at least half of the code, and few pieces.
std::vector<bool> chunks_to_emit(const LoweredLayer& lowered, Pass side, const Plan& plan,
                                 const PreviousKernel& previous) {
  constexpr size_t kMaxPieces = 4;
  std::vector<bool> all(plan.chunks.size(), true);
  if (previous.kernel == nullptr || previous.kernel->pieces().size() >= kMaxPieces) return all;
  const Plan& before = previous.kernel->plan();
  std::vector<bool> changed = same_chunks({table_of(*previous.lowered, side, before), before},
                                          {table_of(lowered, side, plan), plan});
  changed.flip();
  return 2 * taps_of(plan, changed) <= taps_of(plan, all) ? changed : all;
}

// The chunks wanted, cut into `count` sets of consecutive ones with about as many taps each.
std::vector<std::vector<bool>> cut_chunks(const Plan& plan, const std::vector<bool>& wanted,
                                          int count) {
  std::vector<std::vector<bool>> sets(static_cast<size_t>(count),
                                      std::vector<bool>(wanted.size(), false));
  const int64_t taps = std::max<int64_t>(1, taps_of(plan, wanted));
  int64_t done = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    sets[std::min<size_t>(sets.size() - 1, sets.size() * done / taps)][i] = true;
    done += plan.chunks[i].taps;
  }
  return sets;
}

// Runs task(0) ... task(count - 1) on the pool, or here; rethrows what one of them threw.
void run_tasks(ThreadPool* pool, int count, const std::function<void(int)>& task) {
  if (pool == nullptr || count == 1) {
    for (int i = 0; i < count; ++i) task(i);
    return;
  }
  std::vector<std::exception_ptr> thrown(static_cast<size_t>(count));
  pool->run([&](int thread) {
    try {
      task(thread);
    } catch (...) {
      thrown[thread] = std::current_exception();
    }
  });
  for (const std::exception_ptr& exception : thrown) {
    if (exception != nullptr) std::rethrow_exception(exception);
  }
}

// Where the chunks are that were emitted and published at `begin`, one code after the other.
std::vector<ChunkCode> locate_chunks(const EmittedKernel& emitted, const uint8_t* begin) {
  std::vector<ChunkCode> chunks(emitted.plan.chunks.size());
  for (const KernelCode& code : emitted.codes) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      const auto size = static_cast<size_t>(code.chunk_begin[i + 1] - code.chunk_begin[i]);
      if (size == 0) continue;
      chunks[i].code = {begin + code.chunk_begin[i], size};
      chunks[i].instruction_bytes = static_cast<size_t>(code.code_end[i] - code.chunk_begin[i]);
    }
    begin += code.bytes.size();
  }
  return chunks;
}

// Completes `chunks` with those of `previous`; returns the pieces these are in.
std::vector<CodePiecePtr> share_chunks(const NativeKernel& previous, const EmittedKernel& emitted,
                                       std::vector<ChunkCode>& chunks) {
  const auto is_shared = [&](const CodePiecePtr& piece) {
    const std::span<const uint8_t> code(piece->range->begin(),
                                        static_cast<size_t>(piece->range->size()));
    for (size_t i = 0; i < chunks.size(); ++i) {
      const uint8_t* chunk = chunks[i].code.data();
      if (!emitted.emitted[i] && chunk >= code.data() && chunk < code.data() + code.size()) {
        return true;
      }
    }
    return false;
  };
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (emitted.emitted[i]) continue;
    chunks[i] = previous.chunks()[i];
    chunks[i].emitted = false;
  }
  std::vector<CodePiecePtr> pieces;
  std::copy_if(previous.pieces().begin(), previous.pieces().end(), std::back_inserter(pieces),
               is_shared);
  return pieces;
}

// Others use the last-level cache too, and so do the tensors.
int64_t kept_code_bytes(const MachineModel& machine) { return machine.l3_bytes / 2; }

}  // namespace

int64_t EmittedKernel::bytes() const {
  int64_t bytes = 0;
  for (const KernelCode& code : codes) bytes += std::ssize(code.bytes);
  return bytes;
}

KernelCompiler::KernelCompiler(MachineModel machine, Profilers profilers, ReportLine log,
                               std::function<void(const Plan&)> before_emit)
    : machine_(std::move(machine)),
      profilers_(profilers),
      log_(std::move(log)),
      before_emit_(std::move(before_emit)),
      memory_(CodeMemory::create({.prefer_private = profilers_.perf_map || profilers_.gdb})) {}

Plan KernelCompiler::plan(const LoweredLayer& lowered, Pass side, const KernelRequest& request,
                          const CompileHow& how) const {
  const NativeKernelPtr& previous = how.previous.kernel;
  return plan_kernel(lowered.table(side, request.unshifted()), request, machine_,
                     previous == nullptr ? nullptr : &previous->plan());
}

EmitOutcome KernelCompiler::emit(const LoweredLayer& lowered, Pass side, Plan plan,
                                 const CompileHow& how) const {
  const auto start = std::chrono::steady_clock::now();
  if (before_emit_) before_emit_(plan);
  const TapTable& table = table_of(lowered, side, plan);
  EmittedKernel emitted;
  emitted.emitted = chunks_to_emit(lowered, side, plan, how.previous);
  const bool all =
      std::find(emitted.emitted.begin(), emitted.emitted.end(), false) == emitted.emitted.end();
  if (!all) emitted.previous = how.previous.kernel;
  const bool shared = how.pool != nullptr && taps_of(plan, emitted.emitted) >= kMinSharedTaps;
  const int count = shared ? how.pool->threads() : 1;
  const auto sets = cut_chunks(plan, emitted.emitted, count);
  std::vector<EmitResult> results(sets.size());
  run_tasks(how.pool, count, [&](int i) {
    results[i] = emit_kernel(table, plan, {.only = all && count == 1 ? nullptr : &sets[i]});
  });
  for (EmitResult& result : results) {
    if (!result.code.has_value()) return {.kernel = std::nullopt, .reason = result.reason};
    emitted.codes.push_back(std::move(*result.code));
  }
  if (plan.packed_values) emitted.value_order = packed_order(table, plan);
  emitted.plan = std::move(plan);
  emitted.seconds = seconds_since(start);
  return {.kernel = std::move(emitted), .reason = {}};
}

CompileOutcome KernelCompiler::publish(const Mask& mask, Pass side, EmittedKernel emitted) const {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::span<const uint8_t>> codes;
  for (const KernelCode& code : emitted.codes) codes.emplace_back(code.bytes);
  PublishResult published = memory_->publish(codes);
  if (published.range == nullptr) return {.kernel = nullptr, .reason = published.reason};
  std::vector<ChunkCode> chunks = locate_chunks(emitted, published.range->begin());
  auto listing = list_code(mask, side, emitted.plan, chunks);
  std::vector<CodePiecePtr> pieces;
  if (emitted.previous != nullptr) pieces = share_chunks(*emitted.previous, emitted, chunks);
  pieces.push_back(
      std::make_shared<CodePiece>(CodePiece{std::move(published.range), std::move(listing)}));
  return {.kernel = std::make_shared<NativeKernel>(
              std::move(emitted.plan), std::move(emitted.value_order), std::move(chunks),
              std::move(pieces), kept_code_bytes(machine_), emitted.seconds + seconds_since(start)),
          .reason = {}};
}

std::unique_ptr<const CodeListing> KernelCompiler::list_code(
    const Mask& mask, Pass side, const Plan& plan, const std::vector<ChunkCode>& chunks) const {
  if (!profilers_.any()) return nullptr;
  std::vector<std::span<const uint8_t>> codes;
  codes.reserve(chunks.size());
  for (const ChunkCode& chunk : chunks) {
    codes.push_back(chunk.code.first(chunk.instruction_bytes));
  }
  CodeSymbols symbols = chunk_symbols(mask, side, plan.kind, codes);
  if (symbols.empty()) return nullptr;
  return std::make_unique<CodeListing>(profilers_, std::move(symbols), log_);
}

std::string KernelCompiler::check(const LoweredLayer& lowered, Pass side,
                                  const NativeKernel& kernel) const {
  const EmitResult again = emit_kernel(table_of(lowered, side, kernel.plan()), kernel.plan());
  if (!again.code.has_value()) return "it cannot be emitted again: " + again.reason;
  for (size_t i = 0; i < kernel.chunks().size(); ++i) {
    const auto begin = again.code->bytes.begin() + again.code->chunk_begin[i];
    const auto end = again.code->bytes.begin() + again.code->chunk_begin[i + 1];
    const std::span<const uint8_t> code = kernel.chunks()[i].code;
    if (!std::equal(begin, end, code.begin(), code.end())) {
      return fmt::format("the code of chunk {} differs", i);
    }
  }
  return {};
}

}  // namespace sparsejit
