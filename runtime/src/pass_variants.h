// PassVariants: for one layer, the kernels of each shape it has met, and which engine runs them.
//
// A shape is a pass, a batch size and, for each operand, the pitch at which it is used in place or
// 0 where it is packed. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine_picker.h"
#include "pass_driver.h"
#include "runtime_impl.h"

namespace sparsejit {

struct PassShape {
  Pass pass = Pass::forward;
  int64_t batch = 0;
  Pitches direct;
  bool want_own = true;
  bool operator==(const PassShape&) const = default;
};

// What one call runs. Holds the kernel until the call is over.
struct PreparedPass {
  std::shared_ptr<const PanelKernel> kernel;
  Engine engine = Engine::interpreted;
  bool measured = false;  // the picker wants to know how long it took
};

// What making kernels ready for a new mask did.
struct Regeneration {
  int64_t generated = 0;
  int64_t reused = 0;
  int64_t code_bytes = 0;
  double seconds = 0;
};

class PassVariants {
 public:
  PassVariants(std::shared_ptr<Runtime::Impl> runtime, Engine wanted)
      : runtime_(std::move(runtime)), wanted_(wanted) {}

  PreparedPass prepare(const LoweredMaskPtr& lowered, const PassShape& shape);
  void record(const PassShape& shape, Engine engine, double seconds);
  // True if a kernel for operands at these pitches exists or may still be made; a layer that meets
  // ever new pitches packs instead of compiling for ever.
  bool accepts_direct(const PassShape& shape) const;
  // Makes native kernels for all known shapes ready for a new mask.
  Regeneration regenerate(const LoweredMaskPtr& lowered, bool keep_choices);
  std::vector<KernelReport> report() const;

 private:
  struct Variant {
    PassShape shape;
    Plan plan;
    std::shared_ptr<const PanelKernel> interpreted;
    NativeKernelPtr native;
    bool native_looked_up = false;
    std::string native_problem;
    EnginePicker picker;
  };

  Variant& find_or_add(const LoweredMaskPtr& lowered, const PassShape& shape);
  KernelLookup look_up_native(const LoweredMaskPtr& lowered, Variant& variant);
  Engine choose(const LoweredMaskPtr& lowered, Variant& variant);
  KernelReport report_of(const Variant& variant) const;

  const std::shared_ptr<Runtime::Impl> runtime_;
  const Engine wanted_;
  bool warned_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Variant>> variants_;  // oldest first
};

}  // namespace sparsejit
