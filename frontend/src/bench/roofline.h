// Roofline: how near a result is to what this machine's arithmetic, second-level cache and memory
// allow. Each is a share of the time that was taken:
//
//     share = (work / measured peak) / median time
//
//     fma     operations on stored weights               peak of multiply-adds, all threads
//     l2      bytes that cross from L2 to L1             L2 read rate, all threads
//     memory  bytes that must cross from memory          read rate of memory with as many threads
//
// Bytes, for a batch (or images times pixels) of P floats a stream, 4 bytes a float:
//
//             l2                                         memory
//     forward   nnz*P (each weight reads its stream)     x + 2*y + values + where
//               + y
//     backward  nnz*P (dy, once for both gradients)      x + dy + 2*dx + values + 2*d_values +
//     where
//               + x + dx
//
// `2*`: a line that is written is read first. `where` says which weights are stored: the bytes of
// generated code of native, a 4-byte index a weight of the others. Each tensor counts once for
// memory however often it is read: no kernel can do with less, so a hot run, whose tensors are in a
// cache already, may exceed 100%. Of L2 it is what a loop needs that holds weights in registers and
// loads a vector for each product; a kernel whose rows share loads, or whose streams stay in L1,
// exceeds 100%. The baselines loop over stored weights only in part (paper_loop does), so the
// others have no share of L2 and memory. Pure arithmetic.
#pragma once

#include <optional>

#include "bench/results.h"

namespace sparsejit::frontend {

// Of both passes: the sum.
struct Work {
  double flops = 0;
  double l2_bytes = 0;
  double memory_bytes = 0;
};
Work count_work(const Workload& workload, int64_t nnz, TimedPass pass, double where_bytes);

struct RooflineShares {
  std::optional<double> fma;
  std::optional<double> l2;
  std::optional<double> memory;
};
// Empty where the peak was not measured or the engine has no such share.
RooflineShares roofline_shares(const WorkloadResults& group, const BenchResult& result,
                               const BenchMachine& machine);

}  // namespace sparsejit::frontend
