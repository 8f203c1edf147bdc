// Work over peaks; see roofline.h.
#include "bench/roofline.h"

#include <algorithm>

namespace sparsejit::frontend {
namespace {

constexpr double kFloat = sizeof(float);
constexpr double kIndex = sizeof(int32_t);

// Bytes of the tensors on both sides.
struct TensorBytes {
  explicit TensorBytes(const Workload& workload) {
    const Extents sizes = extents(workload);
    const auto images = static_cast<double>(sizes.images);
    x = kFloat * images * static_cast<double>(workload.in * sizes.input_pixels());
    y = kFloat * images * static_cast<double>(workload.out * sizes.output_pixels());
  }
  double x = 0;
  double y = 0;
};

Work count_pass(const Workload& workload, int64_t nnz, Pass pass) {
  const TensorBytes tensors(workload);
  const double values = kFloat * static_cast<double>(nnz);
  Work work;
  work.flops = flops(workload, nnz, pass);
  work.l2_bytes = values * products_per_weight(workload);
  if (pass == Pass::forward) {
    work.l2_bytes += tensors.y;
    work.memory_bytes = tensors.x + 2 * tensors.y + values;
    return work;
  }
  const double dx = workload.want_dx ? tensors.x : 0;
  work.l2_bytes += tensors.x + dx;
  work.memory_bytes = tensors.x + tensors.y + 2 * dx + 3 * values;
  return work;
}

std::optional<double> share(double work, double rate, double milliseconds) {
  if (rate <= 0 || milliseconds <= 0) return std::nullopt;
  return work / (rate * 1e9) / (milliseconds * 1e-3);
}

double memory_gbytes(const BenchMachine& machine, int threads) {
  const auto found = std::find_if(machine.memory.begin(), machine.memory.end(),
                                  [&](const MemoryPeak& peak) { return peak.threads == threads; });
  return found == machine.memory.end() ? 0 : found->gbytes;
}

}  // namespace

Work count_work(const Workload& workload, int64_t nnz, TimedPass pass, double where_bytes) {
  Work work;
  for (const Pass part : parts_of(pass)) {
    const Work counted = count_pass(workload, nnz, part);
    work.flops += counted.flops;
    work.l2_bytes += counted.l2_bytes;
    work.memory_bytes += counted.memory_bytes;
  }
  work.memory_bytes += where_bytes;
  return work;
}

RooflineShares roofline_shares(const WorkloadResults& group, const BenchResult& result,
                               const BenchMachine& machine) {
  const auto passes = static_cast<double>(parts_of(result.pass).size());
  const double where = result.engine == BenchEngine::native
                           ? static_cast<double>(result.code_bytes)
                           : kIndex * static_cast<double>(group.nnz) * passes;
  const Work work = count_work(group.workload, group.nnz, result.pass, where);
  const double cores = group.threads;
  RooflineShares shares;
  shares.fma = share(work.flops, machine.fma_peak_gflops * cores, result.median_ms);
  if (!is_library(result.engine) && result.engine != BenchEngine::paper_loop) return shares;
  shares.l2 = share(work.l2_bytes, machine.l2_gbytes * cores, result.median_ms);
  shares.memory = share(work.memory_bytes, memory_gbytes(machine, group.threads), result.median_ms);
  return shares;
}

}  // namespace sparsejit::frontend
