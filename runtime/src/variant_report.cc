// What a Variant tells about itself: its candidates, which of them runs, and why.
#include <algorithm>

#include "sparsejit/error.h"
#include "variant.h"

namespace sparsejit {
namespace {

// The least that was measured of all candidates of one engine; 0: nothing.
double least_measured(const std::vector<CandidateReport>& candidates, Engine engine) {
  double least = 0;
  for (const CandidateReport& candidate : candidates) {
    const double seconds = candidate.measured_seconds;
    if (candidate.engine != engine || seconds == 0) continue;
    least = least == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

}  // namespace

KernelReport Variant::report() const {
  KernelReport report;
  report.pass = shape_.pass;
  report.want_dx = shape_.want_dx;
  report.want_d_values = shape_.want_d_values;
  report.batch = shape_.images;
  report.image = shape_.image;
  report.images_per_slab = slabs_.images_per_slab();
  const int next = running();
  for (int i = 0; i <= fallback(); ++i) {
    const Candidate& candidate = candidates_[i];
    for (const NativeKernelPtr& code : candidate.code.codes) {
      report.code_bytes += code->code_bytes();
      report.compile_seconds += code->compile_seconds();
    }
    const bool considered = candidate.predicted.call > 0 || picker_.median(i) > 0 ||
                            candidate.state != CandidateState::unknown;
    if (i != next && (!candidate.allowed || !considered)) continue;
    report.candidates.push_back({.name = candidate.kind.name,
                                 .engine = candidate.kind.engine,
                                 .predicted_seconds = candidate.predicted.call,
                                 .measured_seconds = picker_.median(i),
                                 .note = candidate.note,
                                 .runs = i == next});
  }
  report.native_seconds = least_measured(report.candidates, Engine::native);
  report.interpreted_seconds = least_measured(report.candidates, Engine::interpreted);
  report.measuring = measures();
  report.reason = reason();
  report.engine =
      next == Picker::kUndecided ? layer_.options.engine : candidates_[next].kind.engine;
  const int shown = next == Picker::kUndecided && measures() ? picker_.next() : next;
  if (shown == Picker::kUndecided || candidates_[shown].steps == nullptr) return report;
  for (const Step& step : *candidates_[shown].steps) report.plans.push_back(step.kernel->plan());
  return report;
}

bool Variant::is_pending() const {
  return std::ranges::any_of(contenders_, [&](int number) {
    return candidates_[number].state == CandidateState::pending;
  });
}

int Variant::running() const {
  if (is_pending()) return fallback();
  return decided() ? contenders_.front() : Picker::kUndecided;
}

std::string Variant::reason() const {
  if (contenders_.empty()) return "not made yet for this mask";
  if (is_pending()) return "generated code is being made in the background";
  if (!decided()) return "still measuring";
  switch (why_) {
    case Why::asked_for:
      return "asked for";
    case Why::measured:
      return advantage("measured", [&](int i) { return picker_.median(i); });
    case Why::predicted:
      return advantage("predicted", [&](int i) { return candidates_[i].predicted.call; });
    case Why::remembered:
      return "remembered";
    case Why::only_one:
      break;
  }
  for (const Candidate& other : candidates_) {
    if (!other.note.empty()) return other.note;
  }
  return "only one";
}

// Over the next best.
std::string Variant::advantage(const char* how, const std::function<double(int)>& seconds) const {
  const int chosen = contenders_.front();
  int second = chosen;
  for (int i = 0; i <= fallback(); ++i) {
    if (i == chosen || seconds(i) == 0) continue;
    if (second == chosen || seconds(i) < seconds(second)) second = i;
  }
  if (second == chosen) return fmt::format("{} faster", how);
  return fmt::format("{} {:.2f}x faster than {}", how, seconds(second) / seconds(chosen),
                     candidates_[second].kind.name);
}

}  // namespace sparsejit
