// The calls into generated code.
#include "native_kernel.h"

#include <algorithm>

#include "tail.h"

namespace sparsejit {

int64_t NativeKernel::code_bytes() const {
  int64_t bytes = 0;
  for (const ChunkCode& chunk : chunks_) bytes += std::ssize(chunk.code);
  return bytes;
}

int64_t NativeKernel::emitted_bytes() const {
  int64_t bytes = 0;
  for (const ChunkCode& chunk : chunks_) bytes += chunk.emitted ? std::ssize(chunk.code) : 0;
  return bytes;
}

int64_t NativeKernel::emitted_chunks() const {
  return std::count_if(chunks_.begin(), chunks_.end(),
                       [](const ChunkCode& chunk) { return chunk.emitted; });
}

void NativeKernel::run(const PanelOperands& operands, int32_t block, int32_t first_part,
                       int32_t last_part, int64_t length) const {
  constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
  KernelArguments arguments{.gathered = operands.gathered,
                            .own = operands.own,
                            .paired = operands.paired,
                            .loop_bytes = length * kFloatBytes,
                            .partial = operands.partial};
  const bool accumulate = plan_.kind == KernelKind::accumulate;
  if (accumulate) arguments.start_or_d_values = operands.start;
  if (plan_.tail) {
    const Tail tail = tail_of(length);
    arguments.loop_bytes = tail.loop_length * kFloatBytes;
    arguments.tail_offset = (tail.offset - tail.loop_length) * kFloatBytes;
    arguments.tail_mask = tail.mask;
  }
  for (int32_t part = first_part; part < last_part; ++part) {
    const auto chunk = static_cast<size_t>(block) * plan_.parts() + part;
    const int64_t base = plan_.chunks[chunk].value_base;
    arguments.values = operands.values + base;
    if (!accumulate) arguments.start_or_d_values = operands.d_values + base;
    const std::span<const uint8_t> code = chunks_[chunk].code;
    // A table is read in order, as processors foresee.
    fetch_.before_run(chunk, code.first(chunks_[chunk].instruction_bytes));
    reinterpret_cast<ChunkEntry>(const_cast<uint8_t*>(code.data()))(&arguments);
  }
}

}  // namespace sparsejit
