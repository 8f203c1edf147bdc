// Results: what was measured, as plain data that the table, the summary and the JSON read.
//
// One WorkloadResults for each workload and number of threads; inside it one BenchResult for each
// pass, engine and state. Times are medians; GF/s count the same operations for every engine (see
// flops). "total" is forward plus backward: its samples are sums of a forward and a backward
// sample of the same round, its code and compile time are sums, its error is the larger one.
//
// `chosen` marks the engine the automatic picker took for that pass, hot and cold apart. Where it
// took different engines for the two passes, "total" marks the one of the pass that costs more.
// Where it took dense, the line of `dense` is marked, which is without the time to fill the weight.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "bench/picker_run.h"
#include "sparsejit/machine.h"

namespace sparsejit::frontend {

struct BenchResult {
  TimedPass pass = TimedPass::forward;
  BenchEngine engine = BenchEngine::native;
  CacheState state = CacheState::hot;
  double median_ms = 0;
  double quartile1_ms = 0;
  double quartile3_ms = 0;
  int64_t samples = 0;
  double gflops = 0;
  bool chosen = false;
  int64_t code_bytes = 0;  // generated code, native only
  double compile_ms = 0;   // native only
  double max_rel_error = 0;
  std::string ran_on;  // layout or kernel the engine ran on
};

struct SkippedEngine {
  BenchEngine engine = BenchEngine::native;
  std::string reason;
};

struct WorkloadResults {
  Workload workload;
  int64_t nnz = 0;
  int threads = 1;
  std::vector<BenchResult> results;
  std::vector<SkippedEngine> skipped;
};

// GB/s at which so many threads together read memory.
struct MemoryPeak {
  int threads = 1;
  double gbytes = 0;
};

struct BenchMachine {
  MachineModel model;
  std::string dense_library;       // of linear layers
  std::string dense_conv_library;  // of convolutions
  std::string mkl;                 // empty: not installed
  // Measured with AVX2, arithmetic with AVX-512 where generated code may use it; 0 or none without.
  double fma_peak_gflops = 0;      // of one core
  double l2_gbytes = 0;            // GB/s of one core
  std::vector<MemoryPeak> memory;  // for each number of threads of the run
};

// Results of one state, in the order of `passes` for each contender.
std::vector<BenchResult> make_results(const Problem& problem, CacheState state,
                                      std::span<const TimedPass> passes,
                                      std::span<const Contender> contenders,
                                      std::span<const Samples> samples, const Picks& picks);

// The passes a timed pass consists of.
std::vector<Pass> parts_of(TimedPass pass);

// Null when there is none.
const BenchResult* find_result(const WorkloadResults& group, TimedPass pass, BenchEngine engine,
                               CacheState state);
// In milliseconds, of an engine, or (none) of what the picker took: in total the sum of both
// passes, each on its own pick.
std::optional<double> find_median(const WorkloadResults& group, TimedPass pass,
                                  std::optional<BenchEngine> engine, CacheState state);
// The faster of the dense libraries that were measured.
const BenchResult* find_dense(const WorkloadResults& group, TimedPass pass, CacheState state);

// Calls after which compiling has saved what it cost, against interpreting from the start; none
// where the interpreter is as fast.
std::optional<double> break_even_calls(const BenchResult& native, const BenchResult& interpreted);

// "768x3072 batch 902 sparsity 0.95, 1 thread"
std::string describe(const WorkloadResults& group);

}  // namespace sparsejit::frontend
