// The JSON form of the results, which scripts rely on: fields may be added, never renamed.
//
//     {"machine": {...},
//      "results": [{"layer": "768x3072", "batch", "sparsity", "nnz", "threads",
//                   "pass": "forward"|"backward"|"total",
//                   "engine": "native"|"interpreted"|"portable"|"paper_loop"|"dense",
//                   "state": "hot"|"cold", "median_ms", "gflops", "chosen", "code_bytes",
//                   "compile_ms", "max_rel_error",
//                   "layout", "pitch", "ran_on", "bias", "dx", "samples", "quartile1_ms",
//                   "quartile3_ms"}],
//      "skipped": [{"layer", "batch", "sparsity", "threads", "engine", "reason"}]}
#pragma once

#include <span>
#include <string>

#include "bench/results.h"

namespace sparsejit::frontend {

std::string to_json(const BenchMachine& machine, std::span<const WorkloadResults> groups);

}  // namespace sparsejit::frontend
