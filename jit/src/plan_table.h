// Decisions of the table family; see plan.h.
#pragma once

#include "plan_parts.h"
#include "sparsejit/plan.h"

namespace sparsejit {

void plan_table(Plan& plan, const KernelRequest& request, const TapTable& table,
                const MachineModel& machine);
PartLimits table_part_limits();

// Bytes of the table for one row with `taps` taps, and of the code of a chunk.
int64_t table_row_bytes(const Plan& plan, int64_t taps);
int64_t table_code_bytes(const Plan& plan);

}  // namespace sparsejit
