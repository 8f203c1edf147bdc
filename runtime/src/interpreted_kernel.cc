// InterpretedKernel: tables for one plan, and the choice of the inner loop.
#include "interpreted_kernel.h"

#include <limits>

#include "sparsejit/error.h"

namespace sparsejit {

InterpretedKernel::InterpretedKernel(LoweredLayerPtr lowered, Pass side, Plan plan)
    : lowered_(std::move(lowered)),
      table_(lowered_->table(side, plan.unshifted())),
      plan_(std::move(plan)) {
  const bool strips = plan_.family == KernelFamily::strip;  // where a block's lie side by side
  offsets_.reserve(table_.taps.size());
  for (const Tap& tap : table_.taps) {
    const int64_t stream = strips ? tap.stream % plan_.block_streams : tap.stream;
    const int64_t offset = stream * plan_.pitches.gathered + tap.shift;
    SPARSEJIT_CHECK(offset, <=, std::numeric_limits<int32_t>::max());
    offsets_.push_back(static_cast<int32_t>(offset));
  }
  if (plan_.packed_values) value_order_ = packed_order(table_, plan_);
  if (!strips) return;
  for (const Chunk& chunk : plan_.chunks) groups_.push_back(strip_groups(table_, plan_, chunk));
}

void InterpretedKernel::run(const PanelOperands& operands, int32_t block, int32_t first_part,
                            int32_t last_part, int64_t length) const {
  const InterpretedJob job{.table = table_,
                           .plan = plan_,
                           .offsets = offsets_.data(),
                           .groups = groups_,
                           .operands = operands,
                           .block = block,
                           .first_part = first_part,
                           .last_part = last_part,
                           .length = length};
  const bool accumulate = plan_.kind == KernelKind::accumulate;
  if (plan_.family == KernelFamily::strip) {
    interpret_strip_sums(job);
  } else if (plan_.family == KernelFamily::stream) {
    accumulate ? interpret_stream_accumulate(job) : interpret_stream_sums(job);
  } else {
    accumulate ? interpret_resident_accumulate(job) : interpret_resident_sums(job);
  }
}

}  // namespace sparsejit
