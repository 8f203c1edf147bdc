// The calls into generated code.
#include "panel_kernel.h"
#include "tail.h"

namespace sparsejit {

void NativeKernel::run(const PanelOperands& operands, int32_t block, int32_t first_part,
                       int32_t last_part, int64_t length) const {
  constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
  KernelArguments arguments{.gathered = operands.gathered,
                            .own = operands.own,
                            .paired = operands.paired,
                            .values = operands.values,
                            .loop_bytes = length * kFloatBytes};
  if (plan_.kind == KernelKind::accumulate) {
    arguments.start_or_d_values = operands.start;
  } else {
    arguments.start_or_d_values = operands.d_values;
  }
  if (plan_.tail) {
    const Tail tail = tail_of(length);
    arguments.loop_bytes = tail.loop_length * kFloatBytes;
    arguments.tail_offset = (tail.offset - tail.loop_length) * kFloatBytes;
    arguments.tail_mask = tail.mask;
  }
  for (int32_t part = first_part; part < last_part; ++part) {
    const uint8_t* code = range_->begin() + chunk_begin_[block * plan_.parts() + part];
    reinterpret_cast<ChunkEntry>(const_cast<uint8_t*>(code))(&arguments);
  }
}

}  // namespace sparsejit
