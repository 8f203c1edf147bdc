// PassVariants: for one layer, the kernels of each shape it has met, and which engine runs them.
//
// A shape is a pass, a number of images (or samples), their size and, for each tensor, the pitch at
// which it is used in place or 0 where it is packed. An engine runs it in one or two steps
// (pass_steps.h). All ways give the same bits. Thread-safe.
//
// Generated code of a shape: unknown -> declined (would not pay) | pending (in the background)
// -> built. A layer changes from one engine to the other between calls only.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cost_model.h"
#include "engine_picker.h"
#include "native_build.h"
#include "pass_shape.h"
#include "runtime_impl.h"

namespace sparsejit {

// What one call runs. Holds the kernels until the call is over.
struct PreparedPass {
  LoweredLayerPtr lowered;
  Steps steps;
  PassShape shape;  // as run: operands may be packed that could be used in place
  Slabs slabs;
  Engine engine = Engine::interpreted;
  bool measured = false;  // the picker wants to know how long it took
};

class PassVariants {
 public:
  PassVariants(std::shared_ptr<Runtime::Impl> runtime, const LayerOptions& options)
      : runtime_(std::move(runtime)), options_(options) {}

  // Makes what is missing. A layer that meets ever new pitches packs instead of compiling for ever.
  PreparedPass prepare(const LoweredLayerPtr& lowered, PassShape shape);
  void record(const PassShape& shape, Engine engine, double seconds);
  // The mask changes: nothing made for the old one is run any more, though its chunks may serve on.
  void forget_mask(bool keep_choices) noexcept;
  // Makes native kernels for the shapes in use ready, at once or in the background. What fails for
  // want of memory is left to the calls that need it.
  Regeneration regenerate(Lowerings& lowerings) noexcept;
  std::vector<KernelReport> report() const;

 private:
  enum class NativeState { unknown, declined, pending, built };

  struct Variant {
    PassShape shape;
    Slabs slabs;
    Steps interpreted;  // null: not made yet
    NativeState state = NativeState::unknown;
    NativeBuild native;                     // once built
    std::shared_ptr<PendingBuild> pending;  // while pending
    NativeBuild previous;                   // of the mask before, until built
    bool was_used = false;                  // before the mask changed
    std::string declined;                   // why
    EnginePicker picker;
  };

  Variant* find(const PassShape& shape) const;
  Variant& find_or_add(const LoweredLayer& lowered, PassShape& shape);
  std::vector<StepRequest> native_requests(const LoweredLayer& lowered,
                                           const Variant& variant) const;
  bool accepts_direct(const PassShape& shape) const;
  bool compiles_in_background() const;
  PassCost predict(const LoweredLayer& lowered, const Variant& variant,
                   const std::vector<StepRequest>& requests) const;
  bool is_declined(const LoweredLayerPtr& lowered, Variant& variant,
                   const std::vector<StepRequest>& requests) const;
  void look_up_native(const LoweredLayerPtr& lowered, Variant& variant);
  void adopt(const LoweredLayer& lowered, Variant& variant, NativeBuild build);
  void make_interpreted(const LoweredLayerPtr& lowered, Variant& variant) const;
  Engine choose(const LoweredLayerPtr& lowered, Variant& variant);
  KernelReport report_of(const Variant& variant) const;
  void report_engine(const Variant& variant, KernelReport& report) const;

  const std::shared_ptr<Runtime::Impl> runtime_;
  const LayerOptions options_;
  bool warned_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Variant>> variants_;  // oldest first
};

}  // namespace sparsejit
