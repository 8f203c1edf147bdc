// The table of a network: one line for each distinct layer, then the sums.
//
//     resnet50, batch 16, sparsity 0.95
//     n  layer                          forward x dense x paper x interp  backward ...      code
//     3  64x64x3x3 on 56x56, padding 1   4.123*    3.20    2.10     1.30    7.456* ...   9.4 MiB
//     ...
//     all layers, hot, 1 thread         forward  backward     total  x dense
//       native                            123.4     234.5     357.9     3.10
//
// Times are native's in milliseconds, "x" columns say how many times faster it is than that engine.
#pragma once

#include <span>
#include <string>

#include "bench/network_totals.h"

namespace sparsejit::frontend {

// `layer`: any of the network's.
std::string network_header(Suite suite, const Workload& layer);
// A line for each state.
std::string network_lines(const WorkloadResults& group);
std::string network_totals_table(std::span<const NetworkTotal> totals);

}  // namespace sparsejit::frontend
