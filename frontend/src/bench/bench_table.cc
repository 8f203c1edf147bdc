// Results to text; see bench_table.h.
#include "bench/bench_table.h"

#include <algorithm>
#include <cmath>

#include "bench/bench_text.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

std::string gflops_text(const BenchResult* result) {
  return result == nullptr ? "-" : fmt::format("{:.1f}", result->gflops);
}

std::string peak_text(const BenchResult* result, const WorkloadResults& group,
                      const BenchMachine& machine) {
  if (result == nullptr || machine.fma_peak_gflops <= 0) return "-";
  return fmt::format("{:.0f}%", 100 * result->gflops / (machine.fma_peak_gflops * group.threads));
}

std::string row_text(const WorkloadResults& group, const BenchMachine& machine, BenchEngine engine,
                     CacheState state) {
  const BenchResult* forward = find_result(group, TimedPass::forward, engine, state);
  const BenchResult* backward = find_result(group, TimedPass::backward, engine, state);
  const BenchResult* total = find_result(group, TimedPass::total, engine, state);
  const TimedPass pass = headline_pass(group);
  const BenchResult* headline = find_result(group, pass, engine, state);
  if (headline == nullptr) return "";
  return fmt::format(
      "  {:<5} {:<11} {:>9} {:>6} {:>9} {:>6} {:>9} {:>6} {:>5} {:>7} {:>8}\n", to_text(state),
      to_text(engine), time_text(forward), gflops_text(forward), time_text(backward),
      gflops_text(backward), time_text(total), gflops_text(total),
      peak_text(headline, group, machine),
      ratio_text(find_result(group, pass, BenchEngine::dense, state), headline),
      ratio_text(find_result(group, pass, BenchEngine::interpreted, state), headline));
}

// Steps after which compiling has saved what it cost, against interpreting from the start.
std::string payback_text(const BenchResult& native, const BenchResult* interpreted) {
  if (interpreted == nullptr) return "";
  const double saved = interpreted->median_ms - native.median_ms;
  if (saved <= 0) return fmt::format(", {}: never paid back", to_text(native.state));
  return fmt::format(", {}: paid back after {:.0f} calls", to_text(native.state),
                     std::ceil(native.compile_ms / saved));
}

// Which kernels or layouts of their own the baselines of a convolution took.
std::string baselines_line(const WorkloadResults& group) {
  std::string line;
  for (const BenchEngine engine : {BenchEngine::paper_loop, BenchEngine::dense}) {
    const BenchResult* result =
        find_result(group, headline_pass(group), engine, group.results.front().state);
    if (result == nullptr) continue;
    line +=
        fmt::format("{}{} ran on {}", line.empty() ? "  " : ", ", to_text(engine), result->ran_on);
  }
  return line.empty() ? "" : line + "\n";
}

std::string native_line(const WorkloadResults& group) {
  std::string line;
  for (const CacheState state : {CacheState::hot, CacheState::cold}) {
    const TimedPass pass = headline_pass(group);
    const BenchResult* native = find_result(group, pass, BenchEngine::native, state);
    if (native == nullptr) continue;
    if (line.empty()) {
      line = fmt::format("  native: {} of code compiled in {:.2f} ms",
                         bytes_text(native->code_bytes), native->compile_ms);
    }
    line += payback_text(*native, find_result(group, pass, BenchEngine::interpreted, state));
  }
  return line.empty() ? "" : line + "\n";
}

}  // namespace

TimedPass headline_pass(const WorkloadResults& group) {
  TimedPass last = TimedPass::forward;
  for (const BenchResult& result : group.results) last = std::max(last, result.pass);
  return last;
}

std::string machine_line(const BenchMachine& machine) {
  const MachineModel& model = machine.model;
  const std::string peak =
      model.avx2_fma ? fmt::format("AVX2 peak {:.0f} GF/s a core", machine.fma_peak_gflops)
                     : std::string("no AVX2 and FMA");
  return fmt::format("{}, {} core{}, L1 {}, L2 {}, L3 {}; {}\ndense: {}, convolutions {} ({})\n",
                     model.cpu, model.cores, model.cores == 1 ? "" : "s",
                     bytes_text(model.l1_bytes), bytes_text(model.l2_bytes),
                     bytes_text(model.l3_bytes), peak, machine.dense_library,
                     machine.dense_conv_library,
                     model.avx512 ? "this CPU has AVX-512" : "this CPU has no AVX-512");
}

std::string legend() {
  return "Medians in milliseconds; GF/s count operations on stored weights, for dense too;\n"
         "peak: share of the AVX2 peak; *: what the automatic engine picked.\n";
}

std::string workload_table(const WorkloadResults& group, const BenchMachine& machine) {
  double error = 0;
  for (const BenchResult& result : group.results) error = std::max(error, result.max_rel_error);
  std::string text = fmt::format("\n{}: {} weights, {}{}{}{}, error {:.1e}\n", describe(group),
                                 group.nnz, layout_name(group.workload, group.workload.layout),
                                 group.workload.tight_pitch ? ", tight pitch" : "",
                                 group.workload.bias ? ", with bias" : "",
                                 group.workload.want_dx ? "" : ", without dx", error);
  text += fmt::format("  {:<5} {:<11} {:>8}  {:>6} {:>8}  {:>6} {:>8}  {:>6} {:>5} {:>7} {:>8}\n",
                      "", "", "forward", "GF/s", "backward", "GF/s", "total", "GF/s", "peak",
                      "x dense", "x interp");
  for (const CacheState state : {CacheState::hot, CacheState::cold}) {
    for (const BenchEngine engine :
         {BenchEngine::native, BenchEngine::interpreted, BenchEngine::portable,
          BenchEngine::paper_loop, BenchEngine::dense}) {
      text += row_text(group, machine, engine, state);
    }
  }
  text += native_line(group);
  if (group.workload.conv && !group.results.empty()) text += baselines_line(group);
  for (const SkippedEngine& skipped : group.skipped) {
    text += fmt::format("  {} left out: {}\n", to_text(skipped.engine), skipped.reason);
  }
  return text;
}

}  // namespace sparsejit::frontend
