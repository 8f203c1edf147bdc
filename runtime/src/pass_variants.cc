#include "pass_variants.h"

#include <algorithm>
#include <system_error>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Shapes a layer remembers; the oldest is forgotten first (its code stays in the cache).
constexpr size_t kMaxShapes = 64;
// Different sets of pitches a layer compiles for before it packs instead.
constexpr int64_t kMaxDirectPitches = 8;

}  // namespace

PassVariants::Variant* PassVariants::find(const PassShape& shape) const {
  for (const auto& variant : variants_) {
    if (variant->shape == shape) return variant.get();
  }
  return nullptr;
}

PassVariants::Variant& PassVariants::find_or_add(const LoweredLayer& lowered, PassShape& shape) {
  settle_layout(shape, lowered);
  if (Variant* known = find(shape)) return *known;
  if (!accepts_direct(shape)) {
    shape.direct = {};
    shape.merged = true;
    if (Variant* known = find(shape)) return *known;
  }
  if (variants_.size() == kMaxShapes) variants_.erase(variants_.begin());
  variants_.push_back(std::make_unique<Variant>());
  variants_.back()->shape = shape;
  variants_.back()->slabs = pass_slabs(lowered, shape, runtime_->machine);
  return *variants_.back();
}

std::vector<StepRequest> PassVariants::native_requests(const LoweredLayer& lowered,
                                                       const Variant& variant) const {
  const PassGeometry geometry{lowered, variant.shape, variant.slabs};
  std::vector<StepRequest> requests;
  for (const Step& step : pass_steps(geometry, false)) {
    const size_t index = requests.size();
    PreviousKernel previous;
    if (index < variant.previous.codes.size()) {
      previous = {variant.previous.codes[index], variant.previous.lowered};
    }
    requests.push_back({step, step_request(geometry, step, false, options_.relu), previous});
  }
  return requests;
}

// Deterministic layers do not depend on when a compile is done.
bool PassVariants::compiles_in_background() const {
  return options_.compile == CompileMode::background && !options_.deterministic;
}

PassCost PassVariants::predict(const LoweredLayer& lowered, const Variant& variant,
                               const std::vector<StepRequest>& requests) const {
  std::vector<Plan> plans;
  int64_t panel = 1;
  for (const StepRequest& wanted : requests) {
    plans.push_back(
        plan_kernel(lowered.table(wanted.step.side), wanted.request, runtime_->machine));
    panel = plans.back().panel;
  }
  const int64_t panels = (variant.slabs.longest() + panel - 1) / panel;
  return predict_cost(plans, variant.slabs.total(), variant.slabs.count() * panels,
                      runtime_->machine);
}

// Whether generated code is not worth making; `variant.declined` then says why.
bool PassVariants::is_declined(const LoweredLayerPtr& lowered, Variant& variant,
                               const std::vector<StepRequest>& requests) const {
  if (options_.engine != Engine::automatic) return false;
  if (!options_.deterministic && options_.expected_calls == 0) return false;
  const PassCost cost = predict(*lowered, variant, requests);
  const double pays_after = cost.break_even_calls();
  if (pays_after == 0) {
    variant.declined =
        fmt::format("predicted faster: {:.1f} us against {:.1f} us of generated code",
                    cost.interpreted * 1e6, cost.native * 1e6);
    return true;
  }
  const auto expected = static_cast<double>(options_.expected_calls);
  if (expected == 0 || expected >= pays_after) return false;
  if (is_cached(runtime_->cache, lowered, requests)) return false;
  variant.declined =
      fmt::format("expected calls: {}; compiling, predicted {:.2f} ms, would pay after {:.0f}",
                  options_.expected_calls, cost.compile * 1e3, pays_after + 1);
  return true;
}

void PassVariants::look_up_native(const LoweredLayerPtr& lowered, Variant& variant) {
  std::vector<StepRequest> requests = native_requests(*lowered, variant);
  if (is_declined(lowered, variant, requests)) {
    variant.state = NativeState::declined;
    variant.previous = {};
    return;
  }
  if (compiles_in_background() && !is_cached(runtime_->cache, lowered, requests)) {
    try {
      variant.pending = PendingBuild::start(runtime_->compiler, runtime_->cache, lowered, requests);
      variant.state = NativeState::pending;
      return;
    } catch (const std::system_error&) {
      // Without a thread this call waits for the compiler.
    }
  }
  NativeBuild build = build_native(runtime_->cache, lowered, requests, &runtime_->pool);
  if (build.steps == nullptr && !variant.previous.codes.empty()) {
    // The kernels of the old mask may be what takes the room.
    variant.previous = {};
    requests = {};
    requests = native_requests(*lowered, variant);
    build = build_native(runtime_->cache, lowered, requests, &runtime_->pool);
  }
  adopt(*lowered, variant, std::move(build));
}

void PassVariants::adopt(const LoweredLayer& lowered, Variant& variant, NativeBuild build) {
  variant.state = NativeState::built;
  variant.native = std::move(build);
  variant.pending = nullptr;
  variant.previous = {};
  if (variant.native.steps != nullptr || warned_) return;
  warned_ = true;
  runtime_->warn(fmt::format("layer {}: interpreted instead of native: {}",
                             to_text(lowered.spec.mask.shape()), variant.native.problem));
}

void PassVariants::make_interpreted(const LoweredLayerPtr& lowered, Variant& variant) const {
  const PassGeometry geometry{*lowered, variant.shape, variant.slabs};
  std::vector<Step> steps = pass_steps(geometry, true);
  for (Step& step : steps) {
    const KernelRequest request = step_request(geometry, step, true, options_.relu);
    step.kernel = std::make_shared<InterpretedKernel>(
        lowered, step.side, plan_kernel(lowered->table(step.side), request, runtime_->machine));
  }
  variant.interpreted = std::make_shared<const std::vector<Step>>(std::move(steps));
}

Engine PassVariants::choose(const LoweredLayerPtr& lowered, Variant& variant) {
  if (options_.engine == Engine::interpreted) return Engine::interpreted;
  if (variant.picker.chosen() == Engine::interpreted) return Engine::interpreted;
  if (variant.state == NativeState::unknown) look_up_native(lowered, variant);
  if (variant.state == NativeState::pending) {
    if (variant.pending->done()) {
      adopt(*lowered, variant, variant.pending->build());
    } else {
      runtime_->compiler.keep_going();
    }
  }
  if (variant.native.steps == nullptr) return Engine::interpreted;
  if (options_.engine == Engine::native || options_.deterministic) return Engine::native;
  return variant.picker.chosen() == Engine::automatic ? variant.picker.next()
                                                      : variant.picker.chosen();
}

PreparedPass PassVariants::prepare(const LoweredLayerPtr& lowered, PassShape shape) {
  const std::lock_guard lock(mutex_);
  Variant& variant = find_or_add(*lowered, shape);
  PreparedPass prepared;
  prepared.lowered = lowered;
  prepared.shape = shape;
  prepared.slabs = variant.slabs;
  prepared.engine = choose(lowered, variant);
  if (prepared.engine == Engine::interpreted && variant.interpreted == nullptr) {
    make_interpreted(lowered, variant);
  }
  prepared.steps = prepared.engine == Engine::native ? variant.native.steps : variant.interpreted;
  prepared.measured = options_.engine == Engine::automatic && !options_.deterministic &&
                      variant.native.steps != nullptr &&
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
    if (variant->shape.pass != shape.pass || variant->shape.image != shape.image) continue;
    if (!any_direct(variant->shape.direct)) continue;
    if (variant->shape.direct == shape.direct) return true;
    if (std::find(known.begin(), known.end(), variant->shape.direct) == known.end()) {
      known.push_back(variant->shape.direct);
    }
  }
  return static_cast<int64_t>(known.size()) < kMaxDirectPitches;
}

void PassVariants::forget_mask(bool keep_choices) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& variant : variants_) {
    if (variant->native.steps != nullptr) variant->previous = std::move(variant->native);
    variant->was_used = variant->state != NativeState::unknown;
    variant->interpreted = nullptr;
    variant->native = {};
    variant->pending = nullptr;
    variant->declined.clear();
    variant->state = NativeState::unknown;
    if (!keep_choices) variant->picker.restart();
    if (variant->picker.chosen() == Engine::interpreted) variant->previous = {};
  }
}

Regeneration PassVariants::regenerate(Lowerings& lowerings) noexcept {
  const std::lock_guard lock(mutex_);
  Regeneration work;
  for (const auto& variant : variants_) {
    if (!variant->was_used || variant->picker.chosen() == Engine::interpreted) continue;
    try {
      look_up_native(lowerings.get(variant->shape.image), *variant);
      work.add(variant->native.work);
    } catch (...) {
      // Memory, or the caller's log; the next call that needs the kernel tries again.
    }
  }
  return work;
}

KernelReport PassVariants::report_of(const Variant& variant) const {
  KernelReport report;
  report.pass = variant.shape.pass;
  report.want_dx = variant.shape.want_dx;
  report.want_d_values = variant.shape.want_d_values;
  report.batch = variant.shape.images;
  report.image = variant.shape.image;
  report.images_per_slab = variant.slabs.images_per_slab();
  for (const NativeKernelPtr& code : variant.native.codes) {
    report.code_bytes += code->code_bytes();
    report.compile_seconds += code->compile_seconds();
  }
  report.native_seconds = variant.picker.median(Engine::native);
  report.interpreted_seconds = variant.picker.median(Engine::interpreted);
  report_engine(variant, report);
  const Steps& steps =
      report.engine == Engine::interpreted ? variant.interpreted : variant.native.steps;
  if (steps == nullptr) return report;
  for (const Step& step : *steps) report.plans.push_back(step.kernel->plan());
  return report;
}

// The engine of the next call, and why.
void PassVariants::report_engine(const Variant& variant, KernelReport& report) const {
  report.engine = Engine::interpreted;
  if (options_.engine == Engine::interpreted) {
    report.reason = "asked for";
  } else if (variant.picker.chosen() == Engine::interpreted) {
    report.reason = "measured faster";
  } else if (variant.state == NativeState::declined) {
    report.reason = variant.declined;
  } else if (variant.state == NativeState::pending) {
    report.reason = "generated code is being made in the background";
  } else if (variant.state == NativeState::built && variant.native.steps == nullptr) {
    report.reason = variant.native.problem;
  } else if (options_.engine == Engine::native) {
    report.engine = Engine::native;
    report.reason = "asked for";
  } else if (options_.deterministic) {
    report.engine = Engine::native;
    report.reason = "predicted faster";
  } else {
    report.engine = variant.picker.chosen();
    report.reason = report.engine == Engine::automatic ? "still measuring" : "measured faster";
  }
}

std::vector<KernelReport> PassVariants::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelReport> reports;
  for (const auto& variant : variants_) reports.push_back(report_of(*variant));
  return reports;
}

}  // namespace sparsejit
