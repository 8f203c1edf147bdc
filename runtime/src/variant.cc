// See variant.h. Read choose() first.
#include "variant.h"

#include <algorithm>

#include "sparsejit/error.h"

namespace sparsejit {

Variant::Variant(LayerContext& layer, const PassShape& shape, Slabs slabs)
    : layer_(layer), shape_(shape), slabs_(std::move(slabs)), candidates_(make_candidates(layer)) {}

int Variant::choose(const LoweredLayerPtr& lowered) {
  const CandidateTarget wanted = target(lowered);
  if (contenders_.empty()) make_list(wanted);
  if (!make_contenders(wanted)) {
    start_making(wanted, candidates_[fallback()]);
    return fallback();
  }
  return decided() ? contenders_.front() : picker_.next();
}

// Those allowed, without those that are not worth making.
void Variant::make_list(const CandidateTarget& target) {
  const LayerOptions& options = layer_.options;
  if (options.engine == Engine::automatic &&
      (options.deterministic || options.expected_calls != 0)) {
    decline_what_does_not_pay(target);
  }
  for (int i = 0; i <= fallback(); ++i) {
    const Candidate& candidate = candidates_[i];
    if (candidate.allowed && candidate.state != CandidateState::declined) contenders_.push_back(i);
  }
  if (options.engine != Engine::automatic) {
    why_ = Why::asked_for;
  } else if (options.deterministic) {
    contenders_.resize(1);
    why_ = contenders_.front() == fallback() ? Why::only_one : Why::predicted;
  } else {
    why_ = decided() ? Why::only_one : Why::measured;
  }
}

PassCost Variant::predict(const CandidateTarget& target, const Candidate& candidate) const {
  const std::vector<Plan> plans = plan_candidate(target, candidate);
  const int64_t panel = plans.empty() ? 1 : plans.back().panel;
  const int64_t panels = (slabs_.longest() + panel - 1) / panel;
  return predict_cost(plans, slabs_.total(), slabs_.count() * panels, layer_.runtime->machine);
}

void Variant::decline_what_does_not_pay(const CandidateTarget& target) {
  const LayerOptions& options = layer_.options;
  for (Candidate& candidate : candidates_) {
    if (!candidate.generated()) continue;
    const PassCost cost = predict(target, candidate);
    const double pays_after = cost.break_even_calls();
    const auto expected = static_cast<double>(options.expected_calls);
    if (pays_after == 0) {
      candidate.note =
          fmt::format("predicted faster: {:.1f} us against {:.1f} us of generated code",
                      cost.interpreted * 1e6, cost.native * 1e6);
    } else if (expected != 0 && expected < pays_after && !is_at_hand(target, candidate)) {
      candidate.note =
          fmt::format("expected calls: {}; compiling, predicted {:.2f} ms, would pay after {:.0f}",
                      options.expected_calls, cost.compile * 1e3, pays_after + 1);
    } else {
      continue;
    }
    release(candidate);
    candidate.state = CandidateState::declined;
  }
}

bool Variant::make_contenders(const CandidateTarget& target) {
  bool ready = true;
  for (const int number : contenders_) {
    start_making(target, candidates_[number]);
    poll(target, candidates_[number]);
    ready &= candidates_[number].state != CandidateState::pending;
  }
  if (std::erase_if(contenders_, [&](int number) { return candidates_[number].failed(); }) > 0) {
    if (contenders_.empty()) contenders_.push_back(fallback());
    if (decided()) why_ = Why::only_one;
    return make_contenders(target);
  }
  if (ready && !decided()) picker_.enter(contenders_);
  return ready;
}

bool Variant::measures() const {
  return !decided() && std::all_of(contenders_.begin(), contenders_.end(),
                                   [&](int number) { return candidates_[number].runnable(); });
}

void Variant::record(int candidate, double seconds) {
  if (!measures()) return;
  picker_.record(candidate, seconds);
  if (picker_.chosen() == Picker::kUndecided) return;
  contenders_ = {picker_.chosen()};
  why_ = Why::measured;
}

void Variant::forget_mask(bool keep_choice) noexcept {
  was_used_ = !contenders_.empty();
  for (Candidate& candidate : candidates_) sparsejit::forget_mask(candidate);
  if (!keep_choice) picker_.restart();
  if (!keep_choice || !decided() || why_ != Why::measured) {
    contenders_.clear();
  } else {
    for (int i = 0; i < fallback(); ++i) {
      if (i != contenders_.front()) release(candidates_[i]);
    }
  }
}

Regeneration Variant::regenerate(const LoweredLayerPtr& lowered) {
  Regeneration work;
  if (!was_used_) return work;
  const CandidateTarget wanted = target(lowered);
  if (contenders_.empty()) make_list(wanted);
  for (const int number : contenders_) {
    if (!candidates_[number].generated()) continue;
    start_making(wanted, candidates_[number]);
    work.add(candidates_[number].code.work);
  }
  return work;
}

KernelReport Variant::report() const {
  KernelReport report;
  report.pass = shape_.pass;
  report.want_dx = shape_.want_dx;
  report.want_d_values = shape_.want_d_values;
  report.batch = shape_.images;
  report.image = shape_.image;
  report.images_per_slab = slabs_.images_per_slab();
  for (int i = 0; i <= fallback(); ++i) {
    const Candidate& candidate = candidates_[i];
    for (const NativeKernelPtr& code : candidate.code.codes) {
      report.code_bytes += code->code_bytes();
      report.compile_seconds += code->compile_seconds();
    }
    if (candidate.kind.engine == Engine::native) report.native_seconds = picker_.median(i);
    if (candidate.kind.engine == Engine::interpreted)
      report.interpreted_seconds = picker_.median(i);
  }
  report_choice(report);
  return report;
}

// What the next call runs, and why.
void Variant::report_choice(KernelReport& report) const {
  const bool pending = std::any_of(contenders_.begin(), contenders_.end(), [&](int number) {
    return candidates_[number].state == CandidateState::pending;
  });
  const int chosen = pending || contenders_.empty() ? fallback() : contenders_.front();
  report.engine = candidates_[chosen].kind.engine;
  if (pending) {
    report.reason = "generated code is being made in the background";
  } else if (!decided()) {
    report.engine = Engine::automatic;
    report.reason = "still measuring";
  } else if (why_ == Why::asked_for) {
    report.reason = "asked for";
  } else if (why_ == Why::measured) {
    report.reason = "measured faster";
  } else if (why_ == Why::predicted) {
    report.reason = "predicted faster";
  } else {
    for (const Candidate& other : candidates_) {
      if (report.reason.empty()) report.reason = other.note;
    }
  }
  if (report.engine == Engine::automatic || candidates_[chosen].steps == nullptr) return;
  for (const Step& step : *candidates_[chosen].steps) report.plans.push_back(step.kernel->plan());
}

}  // namespace sparsejit
