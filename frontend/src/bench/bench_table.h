// The table a person reads: the machine, then one block of rows for each workload.
//
//     768x3072 batch 902 sparsity 0.95, 1 thread: 117965 weights, feature-major, error 2.1e-07
//       state engine        forward   GF/s  backward   GF/s    total   GF/s  fma   L2  mem x dense
//       ... hot   native         4.123*   51.6    7.456*   57.1   11.58*   55.0  47%  88%
//       25%    10.2
//       ...
//       native: 9.4 MB of code compiled in 23.1 ms, paid back after 182 steps hot, 97 cold
//
// Times are milliseconds, "x" columns say how many times faster the row is than that engine. Only
// text is made here; who prints it and where is the command's business.
#pragma once

#include <string>

#include "bench/results.h"

namespace sparsejit::frontend {

std::string machine_line(const BenchMachine& machine);
std::string legend();
std::string workload_table(const WorkloadResults& group, const BenchMachine& machine);

// The pass that speed-ups refer to: total if it was timed, else the last that was.
TimedPass headline_pass(const WorkloadResults& group);

}  // namespace sparsejit::frontend
