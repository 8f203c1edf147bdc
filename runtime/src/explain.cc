// Layer::explain: what runs, how it was planned, what was measured and why it was chosen.
#include <iterator>

#include "layer_impl.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

std::string microseconds(double seconds) {
  return seconds == 0 ? "-" : fmt::format("{:.1f}", seconds * 1e6);
}

void explain_candidates(const KernelReport& report, std::back_insert_iterator<std::string> out) {
  if (report.candidates.size() < 2) return;
  fmt::format_to(out, "  {:<14} {:>12} {:>12}\n", "candidate", "predicted us", "measured us");
  for (const CandidateReport& candidate : report.candidates) {
    const std::string remark = candidate.runs ? "runs" : candidate.note;
    fmt::format_to(out, "  {:<14} {:>12} {:>12}{}{}\n", candidate.name,
                   microseconds(candidate.predicted_seconds),
                   microseconds(candidate.measured_seconds), remark.empty() ? "" : "  ", remark);
  }
  const double saved = report.interpreted_seconds - report.native_seconds;
  if (report.compile_seconds == 0 || report.native_seconds == 0 || saved <= 0) return;
  fmt::format_to(out, "  compiling pays after {:.0f} calls\n", report.compile_seconds / saved + 1);
}

void explain_kernel(const KernelReport& report, std::string& text) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{} batch {}", to_text(report.pass), report.batch);
  if (report.image != ImageSize{}) {
    fmt::format_to(out, " image {}x{} ({} at a time)", report.image.height, report.image.width,
                   report.images_per_slab);
  }
  const bool has_name = !report.candidate.empty() && report.candidate != to_text(report.engine);
  fmt::format_to(out, ": engine {} ({}{})\n", to_text(report.engine),
                 has_name ? report.candidate + ", " : "", report.reason);
  if (report.code_bytes > 0) {
    fmt::format_to(out, "  code {} bytes, compiled in {:.2f} ms\n", report.code_bytes,
                   report.compile_seconds * 1e3);
  }
  explain_candidates(report, out);
  for (const Plan& plan : report.plans) text += "  " + to_text(plan);
}

}  // namespace

std::string Layer::explain() const {
  const Mask& m = mask();
  std::string text =
      fmt::format("layer {}: {} stored weights, {:.2f}% sparse, mask {}\n", to_text(m.shape()),
                  m.nnz(), m.sparsity() * 100, short_name(m.hash()));
  if (impl_->portable()) {
    return text + fmt::format("engine portable ({})\n", impl_->portable_reason);
  }
  const std::vector<KernelReport> reports = report();
  if (reports.empty()) text += "nothing has run yet\n";
  for (const KernelReport& kernel : reports) explain_kernel(kernel, text);
  return text;
}

}  // namespace sparsejit
