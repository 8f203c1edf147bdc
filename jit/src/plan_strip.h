// What plans of the strip family decide, and the groups of taps that its kernels walk.
#pragma once

#include <vector>

#include "plan_parts.h"
#include "sparsejit/plan.h"

namespace sparsejit {

// Taps whose values and sums fit the registers of AVX-512, beside two vectors of x, dx and dy.
inline constexpr int kStripTaps = 13;

// Taps of one row in one block, at most as many as a group has.
struct TapGroup {
  int64_t row = 0;
  TapRange taps;

  int64_t count() const { return taps.end - taps.begin; }
};

// Largest groups first, so that loops over groups of a size follow each other. As those of a row
// shrink from the first on, its sums stay in order.
std::vector<TapGroup> strip_groups(const TapTable& table, const Plan& plan, const Chunk& chunk);

void plan_strips(Plan& plan, const TapTable& table, const MachineModel& machine);
PartLimits strip_part_limits(const Plan& plan, const TapTable& table, const MachineModel& machine);
// Of the code and the table of a chunk.
int64_t strip_chunk_bytes(const TapTable& table, const Plan& plan, const Chunk& chunk);

}  // namespace sparsejit
