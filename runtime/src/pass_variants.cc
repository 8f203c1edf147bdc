#include "pass_variants.h"

#include <algorithm>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Shapes a layer remembers; the oldest is forgotten first (its code stays in the cache).
constexpr size_t kMaxShapes = 64;
// Different sets of pitches a layer compiles for before it packs instead.
constexpr int64_t kMaxDirectPitches = 8;

bool any_direct(const Pitches& pitches) {
  return pitches.gathered != 0 || pitches.own != 0 || pitches.paired != 0;
}

KernelRequest request_of(const PassShape& shape) {
  return {.pass = shape.pass,
          .length = stream_length(shape.batch, shape.direct),
          .pitches = shape.direct,
          .want_own = shape.want_own};
}

}  // namespace

PassVariants::Variant& PassVariants::find_or_add(const LoweredMaskPtr& lowered,
                                                 const PassShape& shape) {
  for (const auto& variant : variants_) {
    if (variant->shape == shape) return *variant;
  }
  if (variants_.size() == kMaxShapes) variants_.erase(variants_.begin());
  auto variant = std::make_unique<Variant>();
  variant->shape = shape;
  variant->plan = plan_kernel(lowered->table(shape.pass), request_of(shape), runtime_->machine);
  variants_.push_back(std::move(variant));
  return *variants_.back();
}

KernelLookup PassVariants::look_up_native(const LoweredMaskPtr& lowered, Variant& variant) {
  KernelLookup lookup = runtime_->cache.get(lowered, request_of(variant.shape));
  variant.native = lookup.kernel;
  variant.native_problem = lookup.reason;
  variant.native_looked_up = true;
  if (variant.native == nullptr && !warned_) {
    warned_ = true;
    runtime_->warn(fmt::format("layer {}x{}: interpreted instead of native: {}",
                               lowered->mask.rows(), lowered->mask.cols(), lookup.reason));
  }
  return lookup;
}

Engine PassVariants::choose(const LoweredMaskPtr& lowered, Variant& variant) {
  if (wanted_ == Engine::interpreted) return Engine::interpreted;
  if (!variant.native_looked_up) look_up_native(lowered, variant);
  if (variant.native == nullptr) return Engine::interpreted;
  if (wanted_ == Engine::native) return Engine::native;
  return variant.picker.chosen() == Engine::automatic ? variant.picker.next()
                                                      : variant.picker.chosen();
}

PreparedPass PassVariants::prepare(const LoweredMaskPtr& lowered, const PassShape& shape) {
  const std::lock_guard lock(mutex_);
  Variant& variant = find_or_add(lowered, shape);
  PreparedPass prepared;
  prepared.engine = choose(lowered, variant);
  if (prepared.engine == Engine::native) {
    prepared.kernel = variant.native;
  } else {
    if (variant.interpreted == nullptr) {
      variant.interpreted = std::make_shared<InterpretedKernel>(lowered, variant.plan);
    }
    prepared.kernel = variant.interpreted;
  }
  prepared.measured = wanted_ == Engine::automatic && variant.native != nullptr &&
                      variant.picker.chosen() == Engine::automatic;
  return prepared;
}

void PassVariants::record(const PassShape& shape, Engine engine, double seconds) {
  const std::lock_guard lock(mutex_);
  for (const auto& variant : variants_) {
    if (variant->shape == shape) variant->picker.record(engine, seconds);
  }
}

bool PassVariants::accepts_direct(const PassShape& shape) const {
  const std::lock_guard lock(mutex_);
  std::vector<Pitches> known;
  for (const auto& variant : variants_) {
    if (variant->shape.pass != shape.pass || !any_direct(variant->shape.direct)) continue;
    if (variant->shape.direct == shape.direct) return true;
    if (std::find(known.begin(), known.end(), variant->shape.direct) == known.end()) {
      known.push_back(variant->shape.direct);
    }
  }
  return static_cast<int64_t>(known.size()) < kMaxDirectPitches;
}

Regeneration PassVariants::regenerate(const LoweredMaskPtr& lowered, bool keep_choices) {
  const std::lock_guard lock(mutex_);
  Regeneration regeneration;
  for (const auto& variant : variants_) {
    variant->plan = plan_kernel(lowered->table(variant->shape.pass), request_of(variant->shape),
                                runtime_->machine);
    variant->interpreted = nullptr;
    variant->native = nullptr;
    if (!keep_choices) variant->picker.restart();
    const bool was_used = variant->native_looked_up;
    variant->native_looked_up = false;
    const bool interpreted = variant->picker.chosen() == Engine::interpreted;
    if (!was_used || interpreted) continue;
    const KernelLookup lookup = look_up_native(lowered, *variant);
    if (lookup.kernel == nullptr) continue;
    if (!lookup.generated) {
      ++regeneration.reused;
      continue;
    }
    ++regeneration.generated;
    regeneration.code_bytes += lookup.kernel->code_bytes();
    regeneration.seconds += lookup.kernel->compile_seconds();
  }
  return regeneration;
}

KernelReport PassVariants::report_of(const Variant& variant) const {
  KernelReport report{.pass = variant.shape.pass,
                      .batch = variant.shape.batch,
                      .engine = {},
                      .reason = {},
                      .plan = variant.plan};
  if (variant.native != nullptr) {
    report.code_bytes = variant.native->code_bytes();
    report.compile_seconds = variant.native->compile_seconds();
  }
  report.native_seconds = variant.picker.median(Engine::native);
  report.interpreted_seconds = variant.picker.median(Engine::interpreted);
  if (wanted_ == Engine::interpreted) {
    report.engine = Engine::interpreted;
    report.reason = "asked for";
  } else if (variant.native_looked_up && variant.native == nullptr) {
    report.engine = Engine::interpreted;
    report.reason = variant.native_problem;
  } else if (wanted_ == Engine::native) {
    report.engine = Engine::native;
    report.reason = "asked for";
  } else {
    report.engine = variant.picker.chosen();
    report.reason = report.engine == Engine::automatic ? "still measuring" : "measured faster";
  }
  return report;
}

std::vector<KernelReport> PassVariants::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelReport> reports;
  for (const auto& variant : variants_) reports.push_back(report_of(*variant));
  return reports;
}

}  // namespace sparsejit
