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

// Times a step walks through its code, or its taps, in a call.
double rounds_of(const Plan& plan, const PassWork& work) {
  const int64_t panel = std::max<int64_t>(1, plan.panel);
  const int64_t panels = std::max<int64_t>(1, (work.longest_slab + panel - 1) / panel);
  return static_cast<double>(work.slabs * panels);
}

double arithmetic_seconds(const Plan& plan, const PassWork& work, const MachineModel& machine) {
  const double vectors = static_cast<double>(work.floats) / machine.isa.lanes;
  return static_cast<double>(plan.part_taps.back()) * vectors * vector_seconds(plan.kind);
}

}  // namespace

PassCost predict_native(const PassWork& work, const MachineModel& machine) {
  PassCost cost;
  int64_t code = 0;
  for (const Plan& plan : work.plans) code += plan.code_bytes_estimate;
  for (const Plan& plan : work.plans) {
    const auto bytes = static_cast<double>(plan.code_bytes_estimate);
    const double fetch = bytes * rounds_of(plan, work) / code_rate(code, machine);
    cost.call += std::max(arithmetic_seconds(plan, work, machine), fetch);
    cost.compile += kCompileKernel + kCompileByte * bytes;
  }
  return cost;
}

PassCost predict_interpreted(const PassWork& work, const MachineModel& machine) {
  PassCost cost;
  for (const Plan& plan : work.plans) {
    const double visits = static_cast<double>(plan.part_taps.back()) * rounds_of(plan, work);
    cost.call +=
        kInterpretedShare * arithmetic_seconds(plan, work, machine) + visits * kInterpretedVisit;
  }
  return cost;
}

double break_even_calls(const PassCost& compiled, const PassCost& other) {
  return compiled.call < other.call ? compiled.compile / (other.call - compiled.call) : 0;
}

}  // namespace sparsejit
