// See cost_model.h. Constants were measured on Zen 4 (bench/README.md).
#include "cost_model.h"

#include <algorithm>

namespace sparsejit {
namespace {

// Seconds for one tap over one vector of eight floats: 45 GF/s forward, 60 in sums, which do twice
// as much. Intrinsics need about 15% more.
constexpr double kAccumulateVector = 0.36e-9;
constexpr double kProductsVector = 0.36e-9;
constexpr double kFusedVector = 0.53e-9;
constexpr double kInterpretedShare = 1.15;
// Intrinsics read an index, set up a pointer and choose a loop: for a tap, each time it is visited.
constexpr double kInterpretedVisit = 0.7e-9;
// Bytes of code a second: from L2, from L3, from memory.
constexpr double kCodeFromL2 = 60e9;
constexpr double kCodeFromL3 = 13e9;
constexpr double kCodeFromMemory = 7e9;
// Seconds to plan, emit and publish a byte of code: 9 ms for 13 MiB.
constexpr double kCompileByte = 0.7e-9;
constexpr double kCompileKernel = 50e-6;

double vector_seconds(KernelKind kind) {
  switch (kind) {
    case KernelKind::accumulate:
      return kAccumulateVector;
    case KernelKind::products:
      return kProductsVector;
    case KernelKind::fused:
      return kFusedVector;
  }
  return 0;
}

double code_rate(int64_t bytes, const MachineModel& machine) {
  if (4 * bytes <= 3 * machine.l2_bytes) return kCodeFromL2;
  return 2 * bytes <= machine.l3_bytes ? kCodeFromL3 : kCodeFromMemory;
}

}  // namespace

PassCost predict_cost(std::span<const Plan> native, int64_t floats, int64_t rounds,
                      const MachineModel& machine) {
  PassCost cost;
  int64_t code = 0;
  for (const Plan& plan : native) code += plan.code_bytes_estimate;
  for (const Plan& plan : native) {
    const auto taps = static_cast<double>(plan.part_taps.back());
    const double vectors = static_cast<double>(floats) / machine.isa.lanes;
    const double work = taps * vectors * vector_seconds(plan.kind);
    const double fetch = static_cast<double>(plan.code_bytes_estimate) *
                         static_cast<double>(rounds) / code_rate(code, machine);
    cost.native += std::max(work, fetch);
    cost.interpreted +=
        kInterpretedShare * work + taps * static_cast<double>(rounds) * kInterpretedVisit;
    cost.compile += kCompileKernel + kCompileByte * static_cast<double>(plan.code_bytes_estimate);
  }
  return cost;
}

}  // namespace sparsejit
