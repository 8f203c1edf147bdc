// What plans of the strip family decide.
#pragma once

#include <vector>

#include "plan_parts.h"
#include "sparsejit/plan.h"

namespace sparsejit {

// Taps whose values and sums fit the registers of AVX-512, beside two vectors of x, dx and dy.
inline constexpr int kStripTaps = 13;

void plan_strips(Plan& plan, const TapTable& table, const MachineModel& machine);
PartLimits strip_part_limits(const Plan& plan, const TapTable& table, const MachineModel& machine);
// Of the code and the table of a chunk.
int64_t strip_chunk_bytes(const TapTable& table, const Plan& plan, const Chunk& chunk);

}  // namespace sparsejit
