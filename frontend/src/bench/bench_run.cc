// The steps of one workload; see bench_run.h.
#include "bench/bench_run.h"

#include <algorithm>

#include "bench/fma_peak.h"
#include "bench/memory_peaks.h"
#include "dense_blas.h"
#include "dense_conv.h"
#include "mkl_sparse.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

// Above this many products (about a tenth of a second) portable runs only when asked for.
constexpr double kPortableProducts = 2e7;

bool too_slow_unasked(const Problem& problem, BenchEngine engine, const BenchOptions& options) {
  const double products =
      static_cast<double>(problem.mask.nnz()) * products_per_weight(problem.workload);
  return engine == BenchEngine::portable && !options.engines_given && products > kPortableProducts;
}

// Unless named, an engine is not mentioned with workloads it is not for. Whether MKL is installed
// is said once, of the machine.
bool belongs(const Problem& problem, BenchEngine engine, const BenchOptions& options) {
  if (options.engines_given || engine < BenchEngine::onednn) return true;
  return !problem.workload.conv && (engine == BenchEngine::onednn || mkl_problem().empty());
}

ContenderResult make_contender(Problem& problem, BenchEngine engine, Runtime& runtime,
                               Evictor* evictor) {
  const bool is_conv = problem.workload.conv.has_value();
  switch (engine) {
    case BenchEngine::paper_loop:
      return is_conv ? make_paper_conv_contender(problem, runtime)
                     : make_paper_contender(problem, runtime);
    case BenchEngine::dense:
      return is_conv ? make_dense_conv_contender(problem, runtime)
                     : make_dense_contender(problem, runtime);
    case BenchEngine::onednn:
      return make_onednn_contender(problem, runtime);
    case BenchEngine::mkl_sparse:
      return make_mkl_contender(problem, runtime);
    default:
      return make_layer_contender(problem, engine, runtime, evictor);
  }
}

std::vector<Contender> make_contenders(Problem& problem, const BenchOptions& options,
                                       Runtime& runtime, Evictor* evictor,
                                       std::vector<SkippedEngine>& skipped) {
  std::vector<Contender> contenders;
  skipped.clear();
  for (const BenchEngine engine : options.engines) {
    if (!belongs(problem, engine, options)) continue;
    if (too_slow_unasked(problem, engine, options)) {
      skipped.push_back({engine, "slow on this size; ask for it with --engines"});
      continue;
    }
    ContenderResult made = make_contender(problem, engine, runtime, evictor);
    if (made.contender) {
      contenders.push_back(std::move(*made.contender));
    } else {
      skipped.push_back({engine, made.reason});
    }
  }
  return contenders;
}

// The passes to run: "total" needs both.
std::vector<Pass> passes_to_run(std::span<const TimedPass> timed) {
  std::vector<Pass> passes;
  for (const Pass pass : kBothPasses) {
    const auto needs = [&](TimedPass wanted) {
      return wanted == TimedPass::total ||
             wanted == (pass == Pass::forward ? TimedPass::forward : TimedPass::backward);
    };
    if (std::any_of(timed.begin(), timed.end(), needs)) passes.push_back(pass);
  }
  return passes;
}

// Without one of the library's engines there is nothing to mark as picked.
Picks find_picks(Problem& problem, std::span<const Contender> contenders, Runtime& runtime,
                 std::span<const Pass> passes, Evictor* evictor) {
  const auto from_library = [](const Contender& contender) { return is_library(contender.engine); };
  if (std::any_of(contenders.begin(), contenders.end(), from_library)) {
    return run_until_picked(problem, runtime, passes, evictor);
  }
  return {Engine::automatic, Engine::automatic};
}

// Each pick is to be measured, hot and cold apart. Dense is a candidate where its line can show it.
RuntimeOptions runtime_options(int threads, const BenchOptions& options) {
  RuntimeOptions result;
  result.threads = threads;
  result.remembered_picks = 0;
  if (std::ranges::find(options.engines, BenchEngine::dense) != options.engines.end()) {
    result.sgemm = dense_sgemm;
  }
  return result;
}

WorkloadResults run_on_threads(Problem& problem, const Reference& reference, int threads,
                               const BenchOptions& options, const ProgressCallback& progress) {
  Runtime runtime(runtime_options(threads, options));

  WorkloadResults group;
  group.workload = problem.workload;
  group.nnz = problem.mask.nnz();
  group.threads = threads;

  const std::vector<Pass> passes = passes_to_run(options.passes);
  const Sampling sampling{options.repetitions, options.min_seconds, threads > 1};
  for (const CacheState state : options.states) {
    std::optional<Evictor> evictor;
    if (state == CacheState::cold) evictor.emplace(runtime);
    Evictor* evict = evictor ? &*evictor : nullptr;
    progress(describe(group) + ": compiling and verifying");
    std::vector<Contender> contenders =
        make_contenders(problem, options, runtime, evict, group.skipped);
    for (Contender& contender : contenders) verify_contender(problem, reference, contender);
    progress(describe(group) + ": timing, caches " + to_text(state));
    if (sampling.settle) wait_for_idle_threads();
    const Picks picks = find_picks(problem, contenders, runtime, passes, evict);
    const std::vector<Samples> samples = measure(contenders, passes, sampling, evict);
    const std::vector<BenchResult> results =
        make_results(problem, state, options.passes, contenders, samples, picks);
    group.results.insert(group.results.end(), results.begin(), results.end());
  }
  return group;
}

}  // namespace

std::vector<WorkloadResults> run_workload(const Workload& workload, const BenchOptions& options,
                                          const ProgressCallback& progress) {
  progress(fmt::format("{} sparsity {:.6g}: computing the reference", layer_text(workload),
                       workload.sparsity));
  Problem problem = make_problem(workload);
  const Reference reference = compute_reference(problem);
  std::vector<WorkloadResults> groups;
  for (const int threads : options.threads) {
    groups.push_back(run_on_threads(problem, reference, threads, options, progress));
  }
  return groups;
}

BenchMachine measure_machine(std::span<const int> threads) {
  BenchMachine machine;
  machine.model = detect_machine();
  machine.dense_library = dense_library();
  machine.dense_conv_library = dense_conv_library();
  machine.mkl = mkl_version();
  if (!machine.model.avx2_fma) return machine;
  machine.fma_peak_gflops = measure_fma_peak_gflops(machine.model.unrolled_isa);
  machine.l2_gbytes = measure_l2_gbytes(machine.model.l2_bytes);
  for (const int count : threads) {
    machine.memory.push_back({count, measure_memory_gbytes(machine.model.l3_bytes, count)});
  }
  return machine;
}

}  // namespace sparsejit::frontend
