// The JSON form of the results, which scripts rely on: fields may be added, never renamed.
//
//     {"machine": {...},
//      "results": [{"layer": "768x3072", "batch", "sparsity", "nnz", "threads",
//                   "pass": "forward"|"backward"|"total",
//                   "engine": "native"|"interpreted"|"portable"|"paper_loop"|"dense"|"onednn"|
//                             "mkl_sparse",
//                   "state": "hot"|"cold", "median_ms", "gflops", "chosen", "code_bytes",
//                   "compile_ms", "max_rel_error",
//                   "layout", "pitch", "ran_on", "bias", "dx", "samples", "quartile1_ms",
//                   "quartile3_ms", "kind": "linear"|"conv2d", "occurrences", "seed",
//                   "dense_algorithms": "fastest"|"direct", "fma_share", "l2_share",
//                   "memory_share", "x_dense", "x_paper_loop", "x_interpreted",
//                   "break_even_calls"}],
//      "skipped": [{"layer", "batch", "sparsity", "threads", "engine", "reason"}],
//      "crossovers": [...]}
//
// Shares are those of roofline.h; "x_dense" and its like say how many times faster the result is
// than the faster dense library; all are null where there is nothing to compare with. Layers from
// mask files have "mask", the file's name. crossover.h has the fields of "crossovers". bench_csv.h,
// report_lines.h and what they feed (plot, comparison) read this form, fresh or from a file.
//
// Convolutions: "layer" is in x out x kernel height x width ("128x256x3x3", all input channels),
// and results and skipped have "image": "7x7", "stride": "2", "padding": "1" or "1x0" (height x
// width) or "0x1x0x1" (top, bottom, left, right), "dilation", "groups": 1; "pitch" is "tight", for
// planes have no gaps. "ran_on" of dense is oneDNN's implementation, of paper_loop "rows" or
// "batch-innermost"; "forward+backward" where they differ.
//
// Networks (--suite) also have the sums over all layers of occurrences * median_ms:
//
//      "network": {"suite": "resnet50",
//                  "totals": [{"threads", "state", "layers": "all"|"3x3 and 1x1",
//                              "engine": as above or "picked",
//                              "forward_ms", "backward_ms", "total_ms": null if not timed}]}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "bench/results.h"

namespace sparsejit::frontend {

// `network`: whose layers the groups are, if any.
nlohmann::ordered_json make_report(const BenchMachine& machine,
                                   std::span<const WorkloadResults> groups,
                                   std::optional<Suite> network);

}  // namespace sparsejit::frontend
