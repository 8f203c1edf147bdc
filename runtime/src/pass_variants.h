// PassVariants: for one layer, the shapes it has met and what runs each of them (variant.h).
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "variant.h"

namespace sparsejit {

// What one call runs. Holds the kernels until the call is over.
struct PreparedPass {
  LoweredLayerPtr lowered;
  Engine engine;
  Steps steps;      // of native and interpreted
  PassShape shape;  // as run: operands may be packed that could be used in place
  Slabs slabs;
  int candidate = 0;
  bool measured = false;  // the picker wants to know how long it took
};

class PassVariants {
 public:
  PassVariants(std::shared_ptr<Runtime::Impl> runtime, const LayerOptions& options, bool linear)
      : layer_{.runtime = std::move(runtime), .options = options, .linear = linear} {}

  // Makes what is missing. A layer that meets ever new pitches packs instead of compiling for ever.
  PreparedPass prepare(const LoweredLayerPtr& lowered, PassShape shape);
  void record(const PreparedPass& pass, double seconds);
  // The mask changes: nothing made for the old one is run any more, though its chunks may serve on.
  void forget_mask(bool keep_choices) noexcept;
  // Makes native kernels for the shapes in use ready, at once or in the background. What fails for
  // want of memory is left to the calls that need it.
  Regeneration regenerate(Lowerings& lowerings) noexcept;
  std::vector<KernelReport> report() const;

 private:
  Variant* find(const PassShape& shape) const;
  Variant& find_or_add(const LoweredLayer& lowered, PassShape& shape);
  bool accepts_direct(const PassShape& shape) const;

  mutable std::mutex mutex_;
  LayerContext layer_;
  std::vector<std::unique_ptr<Variant>> variants_;  // oldest first
};

}  // namespace sparsejit
