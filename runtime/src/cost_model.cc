// See cost_model.h. Constants were measured on Zen 4, those of AVX-512 on Zen 5: linear layers from
// 64 -> 64 to 768 -> 3072, 50% to 99%, batches of 1 to 902, hot.
#include "cost_model.h"

#include <algorithm>

namespace sparsejit {
namespace {

// Seconds for one tap over eight floats, half a vector of AVX-512.
constexpr double kAccumulateVector = 0.33e-9;
constexpr double kAccumulateVector512 = 0.20e-9;
constexpr double kProductsVector = 0.33e-9;
constexpr double kFusedVector = 0.53e-9;
// Tiled kernels: for one tap; and for each row and block, its sums.
constexpr double kTiledVector = 0.19e-9;
constexpr double kTiledVector512 = 0.14e-9;
// The same with AVX2 where tiles have a stream for each position of a kernel, on Zen 5: between 0.9
// and 1.3 of the time of streams, so both are worth a try.
constexpr double kTiledShiftedVector = 0.28e-9;
constexpr double kTiledRowVector = 0.72e-9;
constexpr double kTiledRowVector512 = 0.82e-9;
// Strips: for one tap; for each row, block and strip, its group. Zen 5, 768 -> 3072, batch 902,
// from 50 to 98%.
constexpr double kStripVector = 0.175e-9;
constexpr double kStripVectorProducts = 0.11e-9;
constexpr double kStripGroup = 1e-9;
constexpr double kStripGroupFloat = 0.05e-9;
// Kernels that read a table: for one tap; for each row and block, its words and sums. Measured on
// Zen 5, where they compete with AVX-512, and scaled for others by what intrinsics take there and
// on Zen 4.
struct TableSeconds {
  double fixed;
  double vector;
};
constexpr TableSeconds kTableTap{0.14e-9, 0.155e-9};
constexpr TableSeconds kTableTapSums{0.5e-9, 0.25e-9};
constexpr TableSeconds kTableRow{0.8e-9, 0.2e-9};
constexpr double kTableWithoutAvx512 = 1.8;
// Copying a vector to or from tiles, which stay near, or through a buffer of a whole slab; and from
// such a buffer to tiles, several times, for kernels of more than one position.
constexpr double kCopiedVector = 2.0e-9;
constexpr double kShiftedVector = 0.4e-9;
constexpr double kPackedVector = 5.0e-9;
// Adding up the lanes of a sum: for each tap and round.
constexpr double kSum = 0.4e-9;

// Bytes of code a second: from L2, from L3, from memory (code_fetch.h). L3 gets slower as the code
// takes more than a sixth of it.
constexpr double kCodeFromL2 = 60e9;
constexpr double kCodeFromL3 = 30e9;
constexpr double kCodeFromMemory = 18e9;

// Intrinsics read an index, set up a pointer and choose a loop for each tap and round: at least so
// long in all, and so long beside the arithmetic.
constexpr double kInterpretedLeast = 1.0e-9;
constexpr double kInterpretedVisit = 0.35e-9;
constexpr double kInterpretedLeastSum = 1.8e-9;
constexpr double kInterpretedVisitSum = 0.6e-9;
// Their arithmetic, against that of generated code.
constexpr double kInterpretedShare = 1.15;
constexpr double kInterpretedShareSums = 1.4;

// Seconds to plan, emit and publish a byte of code: 9 ms for 13 MiB.
constexpr double kCompileByte = 0.7e-9;
constexpr double kCompileKernel = 50e-6;

// Dense products: operations a second (OpenBLAS reaches 106e9 on Zen 4, whose AVX-512 it uses, and
// 85e9 on Zen 3); a call; bytes a second while the weight is filled, read, or its gradient
// gathered.
constexpr double kDenseOperations = 85e9;
constexpr double kDenseOperations512 = 120e9;
constexpr double kDenseCall = 2e-6;
constexpr double kDenseBytes = 20e9;

double vector_seconds(const Plan& plan) {
  switch (plan.kind) {
    case KernelKind::accumulate:
      return plan.lanes == 16 ? kAccumulateVector512 : kAccumulateVector;
    case KernelKind::products:
      return kProductsVector;
    case KernelKind::fused:
      return kFusedVector;
  }
  return 0;
}

double code_rate(int64_t bytes, const MachineModel& machine) {
  if (4 * bytes <= 3 * machine.l2_bytes) return kCodeFromL2;
  const double share = static_cast<double>(machine.l3_bytes) / 6 / static_cast<double>(bytes);
  return std::clamp(kCodeFromL3 * share, kCodeFromMemory, kCodeFromL3);
}

// One step of a pass as the model sees it.
struct StepWork {
  StepWork(const Plan& plan, const PassWork& work, const MachineModel& machine)
      : sums(plan.kind != KernelKind::accumulate),
        resident(plan.family == KernelFamily::resident),
        taps(static_cast<double>(plan.part_taps.back())) {
    const int64_t panel = std::max<int64_t>(1, plan.panel);
    const int64_t panels = std::max<int64_t>(1, (work.longest_slab + panel - 1) / panel);
    rounds = static_cast<double>(work.slabs * panels);
    const double vectors = static_cast<double>(work.floats) / machine.isa.lanes;
    vector_loop = vectors * vector_seconds(plan);
    if (!plan.unshifted() || taps == 0) return;
    const auto rows = static_cast<double>(plan.part_begin.back() * plan.blocks);
    if (plan.family == KernelFamily::strip) {
      const double group = kStripGroup + kStripGroupFloat * static_cast<double>(plan.panel);
      const double tap = plan.kind == KernelKind::fused ? kStripVector : kStripVectorProducts;
      vector_loop = vectors * tap + rounds * group * rows / taps;
      return;
    }
    const bool wide = plan.lanes == 16;
    const double narrow = work.shifted_streams > 0 ? kTiledShiftedVector : kTiledVector;
    vector_loop = vectors * ((wide ? kTiledVector512 : narrow) +
                             (wide ? kTiledRowVector512 : kTiledRowVector) * rows / taps);
  }

  bool sums;
  bool resident;
  double taps;
  double rounds;       // times all taps, or their code, are walked through in a call
  double vector_loop;  // seconds of a tap, in all rounds
};

// Of the table itself only what its words cost is counted: it is read once, in order.
double table_seconds(const Plan& plan, const StepWork& step, const MachineModel& machine) {
  const double scale = machine.unrolled_isa.lanes == 16 ? 1 : kTableWithoutAvx512;
  const TableSeconds& tap = step.sums ? kTableTapSums : kTableTap;
  const auto rows = static_cast<double>(plan.part_begin.back() * plan.blocks);
  return scale * step.rounds *
         (step.taps * (tap.fixed + tap.vector * plan.vectors) +
          rows * (kTableRow.fixed + kTableRow.vector * plan.vectors));
}

double copy_seconds(const PassWork& work, const MachineModel& machine) {
  const double vectors = static_cast<double>(work.floats) / machine.isa.lanes;
  return vectors * (kPackedVector * static_cast<double>(work.packed_streams) +
                    kCopiedVector * static_cast<double>(work.copied_streams) +
                    kShiftedVector * static_cast<double>(work.shifted_streams));
}

}  // namespace

// Code of the resident family is fetched while the vectors before it are worked on; around a loop
// over a stream both add up.
PassCost predict_native(const PassWork& work, const MachineModel& machine) {
  PassCost cost;
  cost.call = copy_seconds(work, machine);
  int64_t code = 0;
  for (const Plan& plan : work.plans) code += plan.code_bytes_estimate;
  for (const Plan& plan : work.plans) {
    const StepWork step(plan, work, machine);
    const auto bytes = static_cast<double>(plan.code_bytes_estimate);
    cost.compile += kCompileKernel + kCompileByte * bytes;
    if (plan.family == KernelFamily::strip) {
      cost.call += step.taps * step.vector_loop;
      continue;
    }
    if (plan.family == KernelFamily::table) {
      cost.call += table_seconds(plan, step, machine);
      continue;
    }
    const double fetch = bytes * step.rounds / code_rate(code, machine);
    const double loops = step.taps * (step.vector_loop + (step.sums ? step.rounds * kSum : 0));
    cost.call += step.resident ? std::max(loops, fetch) : loops + fetch;
  }
  return cost;
}

PassCost predict_interpreted(const PassWork& work, const MachineModel& machine) {
  PassCost cost;
  cost.call = copy_seconds(work, machine);
  for (const Plan& plan : work.plans) {
    const StepWork step(plan, work, machine);
    const double least = step.sums ? kInterpretedLeastSum : kInterpretedLeast;
    const double visit = step.sums ? kInterpretedVisitSum : kInterpretedVisit;
    const double share = step.sums ? kInterpretedShareSums : kInterpretedShare;
    cost.call +=
        step.taps * std::max(step.rounds * least, step.rounds * visit + share * step.vector_loop);
  }
  return cost;
}

PassCost predict_dense(const DenseWork& work, const MachineModel& machine) {
  const double weight = static_cast<double>(work.rows) * static_cast<double>(work.cols);
  const double products = (work.with_weight ? 1 : 0) + (work.with_gradient ? 1 : 0);
  const double operations = 2 * weight * static_cast<double>(work.batch);
  const double rate = machine.avx512 ? kDenseOperations512 : kDenseOperations;
  const double moved = 2 * weight * sizeof(float);  // W or dW, written and read
  return {.call = products * (kDenseCall + operations / rate + moved / kDenseBytes), .compile = 0};
}

double break_even_calls(const PassCost& compiled, const PassCost& other) {
  return compiled.call < other.call ? compiled.compile / (other.call - compiled.call) : 0;
}

}  // namespace sparsejit
