// Results to text; see bench_table.h.
#include "bench/bench_table.h"

#include <algorithm>

#include "bench/bench_text.h"
#include "bench/roofline.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

std::string gflops_text(const BenchResult* result) {
  return result == nullptr ? "-" : fmt::format("{:.1f}", result->gflops);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", 100 * *share) : "-";
}

std::string row_text(const WorkloadResults& group, const BenchMachine& machine, BenchEngine engine,
                     CacheState state) {
  const BenchResult* forward = find_result(group, TimedPass::forward, engine, state);
  const BenchResult* backward = find_result(group, TimedPass::backward, engine, state);
  const BenchResult* total = find_result(group, TimedPass::total, engine, state);
  const TimedPass pass = headline_pass(group);
  const BenchResult* headline = find_result(group, pass, engine, state);
  if (headline == nullptr) return "";
  const RooflineShares shares = roofline_shares(group, *headline, machine);
  return fmt::format(
      "  {:<5} {:<11} {:>9} {:>6} {:>9} {:>6} {:>9} {:>6} {:>5} {:>5} {:>5} {:>7} {:>7} {:>8}\n",
      to_text(state), to_text(engine), time_text(forward), gflops_text(forward),
      time_text(backward), gflops_text(backward), time_text(total), gflops_text(total),
      share_text(shares.fma), share_text(shares.l2), share_text(shares.memory),
      ratio_text(find_dense(group, pass, state), headline),
      ratio_text(find_result(group, pass, BenchEngine::paper_loop, state), headline),
      ratio_text(find_result(group, pass, BenchEngine::interpreted, state), headline));
}

std::string payback_text(const BenchResult& native, const BenchResult* interpreted) {
  if (interpreted == nullptr) return "";
  const std::optional<double> calls = break_even_calls(native, *interpreted);
  if (!calls) return fmt::format(", {}: never paid back", to_text(native.state));
  return fmt::format(", {}: paid back after {:.0f} calls", to_text(native.state), *calls);
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

std::string peaks_text(const BenchMachine& machine) {
  if (!machine.model.avx2_fma) return "no AVX2 and FMA, peaks were not measured";
  std::string text = fmt::format(
      "measured peaks: {:.0f} GF/s with {}, {:.0f} GB/s from L2 a core", machine.fma_peak_gflops,
      machine.model.unrolled_isa.lanes == 16 ? "AVX-512" : "AVX2", machine.l2_gbytes);
  for (const MemoryPeak& peak : machine.memory) {
    text += fmt::format(", {:.0f} GB/s from memory with {} thread{}", peak.gbytes, peak.threads,
                        peak.threads == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

TimedPass headline_pass(const WorkloadResults& group) {
  TimedPass last = TimedPass::forward;
  for (const BenchResult& result : group.results) last = std::max(last, result.pass);
  return last;
}

std::string machine_line(const BenchMachine& machine) {
  const MachineModel& model = machine.model;
  return fmt::format(
      "{}, {} core{}, L1 {}, L2 {}, L3 {}\n{}\n"
      "dense: {}, convolutions {} ({}); MKL's sparse BLAS: {}\n",
      model.cpu, model.cores, model.cores == 1 ? "" : "s", bytes_text(model.l1_bytes),
      bytes_text(model.l2_bytes), bytes_text(model.l3_bytes), peaks_text(machine),
      machine.dense_library, machine.dense_conv_library,
      model.avx512 ? "this CPU has AVX-512" : "this CPU has no AVX-512",
      machine.mkl.empty() ? "not installed" : machine.mkl);
}

std::string legend() {
  return "Medians in milliseconds; GF/s count operations on stored weights, for dense too;\n"
         "*: what the automatic engine picked. Share of the measured peaks that the last pass\n"
         "reaches: fma, of arithmetic; L2 and mem, of reading from L2 and memory (above 100%: "
         "nearer\n"
         "caches served it). x columns: how many times faster the row is than the faster dense\n"
         "library, the paper's loop, the interpreter.\n";
}

std::string workload_table(const WorkloadResults& group, const BenchMachine& machine) {
  double error = 0;
  for (const BenchResult& result : group.results) error = std::max(error, result.max_rel_error);
  std::string text = fmt::format("\n{}: {} weights, {}{}{}{}, error {:.1e}\n", describe(group),
                                 group.nnz, layout_name(group.workload, group.workload.layout),
                                 group.workload.tight_pitch ? ", tight pitch" : "",
                                 group.workload.bias ? ", with bias" : "",
                                 group.workload.want_dx ? "" : ", without dx", error);
  text += fmt::format(
      "  {:<5} {:<11} {:>8}  {:>6} {:>8}  {:>6} {:>8}  {:>6} {:>5} {:>5} {:>5} {:>7} {:>7} {:>8}\n",
      "", "", "forward", "GF/s", "backward", "GF/s", "total", "GF/s", "fma", "L2", "mem", "x dense",
      "x paper", "x interp");
  for (const CacheState state : {CacheState::hot, CacheState::cold}) {
    for (const BenchEngine engine : kAllEngines) {
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
