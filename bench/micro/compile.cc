// What it costs to get code: emission alone, a layer whose kernels are in the cache already, and a
// change of the mask. Arguments are the width of a square layer at 95% sparsity, batch 128.
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "sparsejit/emit.h"
#include "sparsejit/sparsejit.h"

namespace sparsejit {
namespace {

constexpr double kSparsity = 0.95;
constexpr int64_t kBatch = 128;

Mask square_mask(int64_t width, uint64_t seed) {
  return Mask::random({width, width}, kSparsity, seed);
}

LayerOptions native_options(Runtime& runtime) {
  return {.engine = Engine::native, .batch = kBatch, .runtime = &runtime};
}

void count_taps(benchmark::State& state, int64_t taps) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * taps);
}

// Plan to bytes; items are taps.
void emit(benchmark::State& state, KernelKind kind) {
  const TapTable forward = lower_linear(square_mask(state.range(0), 1));
  const TapTable table = kind == KernelKind::accumulate ? forward : transpose(forward);
  const int64_t pitch = stream_pitch(kBatch);
  const KernelRequest request{.kind = kind,
                              .length = kBatch,
                              .pitches = {.gathered = pitch, .own = pitch, .paired = pitch}};
  const Plan plan = plan_kernel(table, request, detect_machine());
  int64_t bytes = 0;
  for (auto _ : state) {
    const EmitResult result = emit_kernel(table, plan);
    if (!result.code) return state.SkipWithError(result.reason.c_str());
    bytes += static_cast<int64_t>(result.code->bytes.size());
  }
  count_taps(state, table.size());
  state.SetBytesProcessed(bytes);
}
BENCHMARK_CAPTURE(emit, accumulate, KernelKind::accumulate)->Arg(128)->Arg(1024);
BENCHMARK_CAPTURE(emit, fused, KernelKind::fused)->Arg(128)->Arg(1024);

// Both passes of a mask whose kernels another layer holds.
void compile_layer_cached(benchmark::State& state) {
  Runtime runtime({.threads = 1});
  const Mask mask = square_mask(state.range(0), 1);
  const Layer holder = compile_layer(mask, native_options(runtime));
  const int64_t compiled = runtime.stats().cache_misses;
  for (auto _ : state) {
    benchmark::DoNotOptimize(compile_layer(mask, native_options(runtime)));
  }
  if (runtime.stats().cache_misses != compiled) state.SkipWithError("the cache was missed");
  count_taps(state, mask.nnz());
}
BENCHMARK(compile_layer_cached)->Arg(8)->Arg(128)->Arg(1024);

// The same for a mask of its own, as a loader would make it: its hash is made with it (XXH3 of all
// of it, in the time of from_csr) and the contents are compared once. 3072x768 weights.
void compile_layer_cached_copy(benchmark::State& state) {
  Runtime runtime({.threads = 1});
  const Mask mask = Mask::random({3072, 768}, kSparsity, 1);
  const Layer holder = compile_layer(mask, native_options(runtime));
  const std::vector<int64_t> row_begin(mask.row_begin().begin(), mask.row_begin().end());
  const std::vector<int64_t> columns(mask.columns().begin(), mask.columns().end());
  for (auto _ : state) {
    const Mask copy = Mask::from_csr(row_begin, columns, mask.shape());
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(compile_layer(copy, native_options(runtime)));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(time.count());
  }
  count_taps(state, mask.nnz());
}
BENCHMARK(compile_layer_cached_copy)->UseManualTime();

// `masks` take turns. With one nothing changes; two stay in the cache; of many, in a cache that
// holds none of them for long, each is compiled anew. Items are taps of one pass.
void set_mask(benchmark::State& state, int masks) {
  constexpr int64_t kSmallBudget = 1 << 20;
  const bool compiles = masks > 2;
  RuntimeOptions options{.threads = 1};
  if (compiles) options.code_budget_bytes = kSmallBudget;
  Runtime runtime(options);
  std::vector<Mask> all;
  all.reserve(masks);
  for (int i = 0; i < masks; ++i) all.push_back(square_mask(state.range(0), i + 1));
  Layer layer = compile_layer(all.front(), native_options(runtime));
  size_t next = 0;
  for (auto _ : state) {
    next = (next + 1) % all.size();
    benchmark::DoNotOptimize(layer.set_mask(all[next]));
  }
  count_taps(state, all.front().nnz());
}
BENCHMARK_CAPTURE(set_mask, unchanged, 1)->Arg(512);
BENCHMARK_CAPTURE(set_mask, cached, 2)->Arg(512);
BENCHMARK_CAPTURE(set_mask, compiled, 64)->Arg(512);

}  // namespace
}  // namespace sparsejit
