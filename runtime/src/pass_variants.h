// PassVariants: for one layer, the kernels of each shape it has met, and which engine runs them.
//
// A shape is a pass, a number of images (or samples), their size and, for each tensor, the pitch at
// which it is used in place or 0 where it is packed. An engine runs a pass in one or two *steps*,
// each with a kernel:
//
//     forward                           accumulate by destination
//     backward without dx               products by destination
//     backward                          fused by source; or, generated code for short streams,
//                                       accumulate by source, then products by destination
//
// Two steps read more but need fewer bytes of code for each tap, which is what short streams are
// bound by. All ways give the same bits. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine_picker.h"
#include "pass_driver.h"
#include "pass_shape.h"
#include "runtime_impl.h"

namespace sparsejit {

struct Step {
  KernelKind kind = KernelKind::accumulate;
  Pass side = Pass::forward;  // whose table: forward by destination, backward by source
  Pitches direct;
  std::shared_ptr<const PanelKernel> kernel;

  InPlace in_place() const { return {direct.gathered != 0, direct.own != 0, direct.paired != 0}; }
};

// What one call runs. Holds the kernels until the call is over.
struct PreparedPass {
  LoweredLayerPtr lowered;
  std::shared_ptr<const std::vector<Step>> steps;
  PassShape shape;  // as run: operands may be packed that could be used in place
  Slabs slabs;
  Engine engine = Engine::interpreted;
  bool measured = false;  // the picker wants to know how long it took
};

// What making kernels ready for a new mask did.
struct Regeneration {
  int64_t generated = 0;
  int64_t reused = 0;
  int64_t code_bytes = 0;
  double seconds = 0;

  void add(const KernelLookup& lookup);
};

class PassVariants {
 public:
  PassVariants(std::shared_ptr<Runtime::Impl> runtime, Engine wanted, bool relu)
      : runtime_(std::move(runtime)), wanted_(wanted), relu_(relu) {}

  // Makes what is missing. A layer that meets ever new pitches packs instead of compiling for ever.
  PreparedPass prepare(const LoweredLayerPtr& lowered, PassShape shape);
  void record(const PassShape& shape, Engine engine, double seconds);
  // Makes native kernels for all known shapes ready for a new mask.
  Regeneration regenerate(Lowerings& lowerings, bool keep_choices);
  std::vector<KernelReport> report() const;

 private:
  struct Variant {
    PassShape shape;
    Slabs slabs;
    std::shared_ptr<const std::vector<Step>> interpreted;  // null: not made yet
    std::shared_ptr<const std::vector<Step>> native;       // null: not made, or native_problem
    std::vector<NativeKernelPtr> codes;                    // of the native steps
    bool native_looked_up = false;
    std::string native_problem;
    EnginePicker picker;
  };

  Variant* find(const PassShape& shape) const;
  Variant& find_or_add(const LoweredLayer& lowered, PassShape& shape);
  static std::vector<Step> make_steps(const Variant& variant, bool interpreted);
  KernelRequest request_of(const LoweredLayer& lowered, const Variant& variant, const Step& step,
                           bool interpreted) const;
  bool accepts_direct(const PassShape& shape) const;
  void look_up_native(const LoweredLayerPtr& lowered, Variant& variant, Regeneration& regeneration);
  void make_interpreted(const LoweredLayerPtr& lowered, Variant& variant) const;
  Engine choose(const LoweredLayerPtr& lowered, Variant& variant);
  KernelReport report_of(const Variant& variant) const;

  const std::shared_ptr<Runtime::Impl> runtime_;
  const Engine wanted_;
  const bool relu_;
  bool warned_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Variant>> variants_;  // oldest first
};

}  // namespace sparsejit
