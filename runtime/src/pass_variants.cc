#include "pass_variants.h"

#include <algorithm>

namespace sparsejit {
namespace {

// Shapes a layer remembers; the oldest is forgotten first (its code stays in the cache).
constexpr size_t kMaxShapes = 64;
// Different sets of pitches a layer compiles for before it packs instead.
constexpr int64_t kMaxDirectPitches = 8;

}  // namespace

Variant* PassVariants::find(const PassShape& shape) const {
  for (const auto& variant : variants_) {
    if (variant->shape() == shape) return variant.get();
  }
  return nullptr;
}

Variant& PassVariants::find_or_add(const LoweredLayer& lowered, PassShape& shape) {
  settle_layout(shape, lowered);
  if (Variant* known = find(shape)) return *known;
  if (!accepts_direct(shape)) {
    shape.direct = {};
    shape.merged = true;
    if (Variant* known = find(shape)) return *known;
  }
  if (variants_.size() == kMaxShapes) variants_.erase(variants_.begin());
  variants_.push_back(std::make_unique<Variant>(
      layer_, shape, pass_slabs(lowered, shape, layer_.runtime->machine)));
  return *variants_.back();
}

PreparedPass PassVariants::prepare(const LoweredLayerPtr& lowered, PassShape shape) {
  const std::lock_guard lock(mutex_);
  Variant& variant = find_or_add(*lowered, shape);
  const int candidate = variant.choose(lowered);
  return {.lowered = lowered,
          .engine = variant.candidate(candidate).kind.engine,
          .steps = variant.candidate(candidate).steps,
          .shape = shape,
          .slabs = variant.slabs(),
          .candidate = candidate,
          .measured = variant.measures()};
}

void PassVariants::record(const PreparedPass& pass, double seconds) {
  const std::lock_guard lock(mutex_);
  if (Variant* variant = find(pass.shape)) variant->record(pass.candidate, seconds);
}

bool PassVariants::accepts_direct(const PassShape& shape) const {
  std::vector<TensorPitches> known;
  for (const auto& variant : variants_) {
    if (variant->shape().pass != shape.pass || variant->shape().image != shape.image) continue;
    if (!any_direct(variant->shape().direct)) continue;
    if (variant->shape().direct == shape.direct) return true;
    if (std::find(known.begin(), known.end(), variant->shape().direct) == known.end()) {
      known.push_back(variant->shape().direct);
    }
  }
  return static_cast<int64_t>(known.size()) < kMaxDirectPitches;
}

void PassVariants::forget_mask(bool keep_choices) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& variant : variants_) variant->forget_mask(keep_choices);
}

Regeneration PassVariants::regenerate(Lowerings& lowerings) noexcept {
  const std::lock_guard lock(mutex_);
  Regeneration work;
  for (const auto& variant : variants_) {
    try {
      work.add(variant->regenerate(lowerings.get(variant->shape().image)));
    } catch (...) {
      // Memory, or the caller's log; the next call that needs the kernel tries again.
    }
  }
  return work;
}

std::vector<KernelReport> PassVariants::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelReport> reports;
  for (const auto& variant : variants_) reports.push_back(variant->report());
  return reports;
}

}  // namespace sparsejit
