// The calls into generated code.
#include "panel_kernel.h"

namespace sparsejit {
namespace {

// Generated code has no symbols the function sanitizer could check.
template <typename Entry>
Entry entry_at(const uint8_t* code) {
  return reinterpret_cast<Entry>(const_cast<uint8_t*>(code));
}

}  // namespace

void NativeKernel::run(const PanelOperands& o, int32_t block, int32_t first_part, int32_t last_part,
                       int64_t length) const {
  const auto bytes = static_cast<int64_t>(length * sizeof(float));
  for (int32_t part = first_part; part < last_part; ++part) {
    const uint8_t* code = range_->begin() + chunk_begin_[block * plan_.parts() + part];
    if (plan_.pass == Pass::forward) {
      entry_at<ForwardEntry>(code)(o.gathered, o.own, o.values, o.bias, bytes);
    } else {
      entry_at<BackwardEntry>(code)(o.gathered, o.own, o.paired, o.values, o.d_values, bytes);
    }
  }
}

}  // namespace sparsejit
