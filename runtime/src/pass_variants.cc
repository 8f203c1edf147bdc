#include "pass_variants.h"

#include <algorithm>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Shapes a layer remembers; the oldest is forgotten first (its code stays in the cache).
constexpr size_t kMaxShapes = 64;
// Different sets of pitches a layer compiles for before it packs instead.
constexpr int64_t kMaxDirectPitches = 8;
constexpr int64_t kLanes = 8;
// Longest stream, in vectors, for which generated code takes the backward pass in two steps.
constexpr int64_t kMaxSplitVectors = 5;

bool any_direct(const TensorPitches& pitches) {
  return pitches.x != 0 || pitches.y != 0 || pitches.dx != 0;
}

Step make_step(KernelKind kind, Pass side, const TensorPitches& t) {
  Step step{.kind = kind, .side = side, .direct = {}, .kernel = nullptr};
  if (kind == KernelKind::products) {
    step.direct = {.gathered = t.x, .own = 0, .paired = t.y};
  } else if (side == Pass::forward) {
    step.direct = {.gathered = t.x, .own = t.y, .paired = 0};
  } else {
    step.direct = {.gathered = t.y, .own = t.dx, .paired = kind == KernelKind::fused ? t.x : 0};
  }
  return step;
}

// Floats of a stream the kernels see: the batch where any tensor is used in place, else rounded up
// to whole vectors. One length for all steps, so that all ways of a pass sum in the same order.
int64_t stream_length(const PassShape& shape) {
  return any_direct(shape.direct) ? shape.batch : (shape.batch + kLanes - 1) / kLanes * kLanes;
}

std::vector<Step> make_steps(const PassShape& shape, bool interpreted) {
  const TensorPitches& t = shape.direct;
  if (shape.pass == Pass::forward) return {make_step(KernelKind::accumulate, Pass::forward, t)};
  const Step products = make_step(KernelKind::products, Pass::forward, t);
  if (!shape.want_dx) return {products};
  const bool split = !interpreted && stream_length(shape) <= kMaxSplitVectors * kLanes;
  if (split) return {make_step(KernelKind::accumulate, Pass::backward, t), products};
  return {make_step(KernelKind::fused, Pass::backward, t)};
}

KernelRequest request_of(const PassShape& shape, const Step& step, bool interpreted) {
  return {.kind = step.kind,
          .length = stream_length(shape),
          .pitches = step.direct,
          .interpreted = interpreted};
}

}  // namespace

PassVariants::Variant* PassVariants::find(const PassShape& shape) const {
  for (const auto& variant : variants_) {
    if (variant->shape == shape) return variant.get();
  }
  return nullptr;
}

PassVariants::Variant& PassVariants::find_or_add(PassShape& shape) {
  if (Variant* known = find(shape)) return *known;
  if (!accepts_direct(shape)) {
    shape.direct = {};
    if (Variant* known = find(shape)) return *known;
  }
  if (variants_.size() == kMaxShapes) variants_.erase(variants_.begin());
  variants_.push_back(std::make_unique<Variant>());
  variants_.back()->shape = shape;
  return *variants_.back();
}

void PassVariants::look_up_native(const LoweredMaskPtr& lowered, Variant& variant,
                                  Regeneration& regeneration) {
  variant.native_looked_up = true;
  std::vector<Step> steps = make_steps(variant.shape, false);
  for (Step& step : steps) {
    const KernelLookup lookup =
        runtime_->cache.get(lowered, step.side, request_of(variant.shape, step, false));
    if (lookup.kernel == nullptr) {
      variant.codes.clear();
      variant.native_problem = lookup.reason;
      if (!warned_) {
        warned_ = true;
        runtime_->warn(fmt::format("layer {}x{}: interpreted instead of native: {}",
                                   lowered->mask.rows(), lowered->mask.cols(), lookup.reason));
      }
      return;
    }
    step.kernel = lookup.kernel;
    variant.codes.push_back(lookup.kernel);
    regeneration.add(lookup);
  }
  variant.native = std::make_shared<const std::vector<Step>>(std::move(steps));
}

void PassVariants::make_interpreted(const LoweredMaskPtr& lowered, Variant& variant) const {
  std::vector<Step> steps = make_steps(variant.shape, true);
  for (Step& step : steps) {
    const KernelRequest request = request_of(variant.shape, step, true);
    step.kernel = std::make_shared<InterpretedKernel>(
        lowered, step.side, plan_kernel(lowered->table(step.side), request, runtime_->machine));
  }
  variant.interpreted = std::make_shared<const std::vector<Step>>(std::move(steps));
}

Engine PassVariants::choose(const LoweredMaskPtr& lowered, Variant& variant) {
  if (wanted_ == Engine::interpreted) return Engine::interpreted;
  Regeneration unreported;
  if (!variant.native_looked_up) look_up_native(lowered, variant, unreported);
  if (variant.native == nullptr) return Engine::interpreted;
  if (wanted_ == Engine::native) return Engine::native;
  return variant.picker.chosen() == Engine::automatic ? variant.picker.next()
                                                      : variant.picker.chosen();
}

PreparedPass PassVariants::prepare(const LoweredMaskPtr& lowered, PassShape shape) {
  const std::lock_guard lock(mutex_);
  Variant& variant = find_or_add(shape);
  PreparedPass prepared;
  prepared.shape = shape;
  prepared.length = stream_length(shape);
  prepared.engine = choose(lowered, variant);
  if (prepared.engine == Engine::interpreted && variant.interpreted == nullptr) {
    make_interpreted(lowered, variant);
  }
  prepared.steps = prepared.engine == Engine::native ? variant.native : variant.interpreted;
  prepared.measured = wanted_ == Engine::automatic && variant.native != nullptr &&
                      variant.picker.chosen() == Engine::automatic;
  return prepared;
}

void PassVariants::record(const PassShape& shape, Engine engine, double seconds) {
  const std::lock_guard lock(mutex_);
  if (Variant* variant = find(shape)) variant->picker.record(engine, seconds);
}

bool PassVariants::accepts_direct(const PassShape& shape) const {
  std::vector<TensorPitches> known;
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
    variant->interpreted = nullptr;
    variant->native = nullptr;
    variant->codes.clear();
    if (!keep_choices) variant->picker.restart();
    const bool was_used = variant->native_looked_up;
    variant->native_looked_up = false;
    if (!was_used || variant->picker.chosen() == Engine::interpreted) continue;
    look_up_native(lowered, *variant, regeneration);
  }
  return regeneration;
}

void Regeneration::add(const KernelLookup& lookup) {
  if (!lookup.generated) {
    ++reused;
    return;
  }
  ++generated;
  code_bytes += lookup.kernel->code_bytes();
  seconds += lookup.kernel->compile_seconds();
}

KernelReport PassVariants::report_of(const Variant& variant) const {
  KernelReport report;
  report.pass = variant.shape.pass;
  report.want_dx = variant.shape.want_dx;
  report.batch = variant.shape.batch;
  for (const NativeKernelPtr& code : variant.codes) {
    report.code_bytes += code->code_bytes();
    report.compile_seconds += code->compile_seconds();
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
  const auto& steps = report.engine == Engine::interpreted ? variant.interpreted : variant.native;
  if (steps == nullptr) return report;
  for (const Step& step : *steps) report.plans.push_back(step.kernel->plan());
  return report;
}

std::vector<KernelReport> PassVariants::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelReport> reports;
  for (const auto& variant : variants_) reports.push_back(report_of(*variant));
  return reports;
}

}  // namespace sparsejit
