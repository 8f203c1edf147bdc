// One workload of `bench` from mask to results. The steps, for each number of threads:
//
//     make_problem -> compute_reference
//       -> for hot, cold: make contenders -> verify each -> run the picker, measure -> results
//
// Contenders are made anew for cold caches: an engine with several kinds of kernels may be faster
// with another one than hot, as the automatic engine finds too.
// Each workload and thread count has a Runtime of its own, so compile times are those of a cold
// kernel cache and code of earlier workloads is gone.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/results.h"

namespace sparsejit::frontend {

// Told what happens next, for a progress line; may be called often.
using ProgressCallback = std::function<void(const std::string& step)>;

// One entry for each number of threads. Throws Error when an engine computes something wrong.
std::vector<WorkloadResults> run_workload(const Workload& workload, const BenchOptions& options,
                                          const ProgressCallback& progress);

// CPU, dense libraries and the measured peaks, those of memory for each number of threads.
BenchMachine measure_machine(std::span<const int> threads);

}  // namespace sparsejit::frontend
