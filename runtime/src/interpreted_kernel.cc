// InterpretedKernel: tables for one plan, and the choice of the inner loop.
#include "interpreted_kernel.h"

#include <limits>

#include "sparsejit/error.h"

namespace sparsejit {

InterpretedKernel::InterpretedKernel(LoweredMaskPtr lowered, Plan plan)
    : lowered_(std::move(lowered)), table_(lowered_->table(plan.pass)), plan_(std::move(plan)) {
  offsets_.reserve(table_.taps.size());
  for (const Tap& tap : table_.taps) {
    const int64_t offset = tap.stream * plan_.pitches.gathered + tap.shift;
    SPARSEJIT_CHECK(offset, <=, std::numeric_limits<int32_t>::max());
    offsets_.push_back(static_cast<int32_t>(offset));
  }
}

void InterpretedKernel::run(const PanelOperands& operands, int32_t block, int32_t first_part,
                            int32_t last_part, int64_t length) const {
  const InterpretedJob job{.table = table_,
                           .plan = plan_,
                           .offsets = offsets_.data(),
                           .operands = operands,
                           .block = block,
                           .first_row = plan_.part_begin[first_part],
                           .last_row = plan_.part_begin[last_part],
                           .length = length};
  if (plan_.family == KernelFamily::stream) {
    plan_.pass == Pass::forward ? interpret_stream_forward(job) : interpret_stream_backward(job);
  } else {
    plan_.pass == Pass::forward ? interpret_resident_forward(job)
                                : interpret_resident_backward(job);
  }
}

}  // namespace sparsejit
