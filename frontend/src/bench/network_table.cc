// Results of layers to lines; see network_table.h.
#include "bench/network_table.h"

#include <algorithm>

#include "bench/bench_text.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

std::string pass_columns(const WorkloadResults& group, TimedPass pass, CacheState state) {
  const BenchResult* native = find_result(group, pass, BenchEngine::native, state);
  const auto ratio = [&](BenchEngine other) {
    return ratio_text(find_result(group, pass, other, state), native);
  };
  return fmt::format(" {:>9} {:>7} {:>7} {:>8}", time_text(native),
                     ratio_text(find_dense(group, pass, state), native),
                     ratio(BenchEngine::paper_loop), ratio(BenchEngine::interpreted));
}

// Code and compile time of both passes, whichever were timed.
std::string compile_columns(const WorkloadResults& group, CacheState state) {
  int64_t bytes = 0;
  double milliseconds = 0;
  for (const TimedPass pass : {TimedPass::forward, TimedPass::backward, TimedPass::total}) {
    const BenchResult* native = find_result(group, pass, BenchEngine::native, state);
    if (native == nullptr) continue;
    bytes = std::max(bytes, native->code_bytes);
    milliseconds = std::max(milliseconds, native->compile_ms);
  }
  return fmt::format(" {:>10} {:>7.1f}", bytes_text(bytes), milliseconds);
}

std::string milliseconds_text(const std::optional<double>& milliseconds) {
  return milliseconds ? fmt::format("{:.2f}", *milliseconds) : "-";
}

bool same_block(const NetworkTotal& left, const NetworkTotal& right) {
  return left.threads == right.threads && left.state == right.state &&
         left.inner_only == right.inner_only;
}

// Total if it was timed, else the pass that was.
std::optional<double> headline_ms(const NetworkTotal& total) {
  if (total.total_ms) return total.total_ms;
  return total.backward_ms ? total.backward_ms : total.forward_ms;
}

std::string dense_ratio(std::span<const NetworkTotal> totals, const NetworkTotal& total) {
  for (const NetworkTotal& dense : totals) {
    if (!same_block(dense, total) || dense.engine != BenchEngine::dense) continue;
    const std::optional<double> slower = headline_ms(dense);
    const std::optional<double> faster = headline_ms(total);
    if (slower && faster && *faster > 0) return fmt::format("{:.2f}", *slower / *faster);
  }
  return "-";
}

std::string block_heading(const NetworkTotal& total) {
  const std::string scope = fmt::format(
      "{}, {}, {} thread{}", total.inner_only ? "3x3 and 1x1 convolutions" : "all layers",
      to_text(total.state), total.threads, total.threads == 1 ? "" : "s");
  return fmt::format("\n{:<44} {:>10} {:>10} {:>10} {:>8}\n", scope, "forward", "backward", "total",
                     "x dense");
}

}  // namespace

std::string network_header(Suite suite, const Workload& layer) {
  return fmt::format("\n{}, batch {}, sparsity {:.6g}\n", to_text(suite), layer.batch,
                     layer.sparsity) +
         fmt::format(
             "{:>3} {:<46} {:<4} {:>8}  {:>7} {:>7} {:>8} {:>8}  {:>7} {:>7} {:>8} {:>10} "
             "{:>7}\n",
             "n", "layer", "", "forward", "x dense", "x paper", "x interp", "backward", "x dense",
             "x paper", "x interp", "code", "ms");
}

std::string network_lines(const WorkloadResults& group) {
  std::string text;
  for (const CacheState state : {CacheState::hot, CacheState::cold}) {
    const bool timed = std::any_of(group.results.begin(), group.results.end(),
                                   [&](const BenchResult& r) { return r.state == state; });
    if (!timed) continue;
    text += fmt::format(
        "{:>3} {:<46} {:<4}{}{}{}\n", group.workload.occurrences, layer_geometry(group.workload),
        to_text(state), pass_columns(group, TimedPass::forward, state),
        pass_columns(group, TimedPass::backward, state), compile_columns(group, state));
  }
  for (const SkippedEngine& skipped : group.skipped) {
    text += fmt::format("    {} left out: {}\n", to_text(skipped.engine), skipped.reason);
  }
  return text;
}

std::string network_totals_table(std::span<const NetworkTotal> totals) {
  std::string text;
  for (size_t i = 0; i < totals.size(); ++i) {
    const NetworkTotal& total = totals[i];
    if (i == 0 || !same_block(totals[i - 1], total)) text += block_heading(total);
    text += fmt::format("  {:<42} {:>10} {:>10} {:>10} {:>8}\n", engine_text(total),
                        milliseconds_text(total.forward_ms), milliseconds_text(total.backward_ms),
                        milliseconds_text(total.total_ms), dense_ratio(totals, total));
  }
  return text;
}

}  // namespace sparsejit::frontend
