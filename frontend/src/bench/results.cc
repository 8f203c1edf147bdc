// Samples to results; see results.h.
#include "bench/results.h"

#include <algorithm>
#include <cmath>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

bool is_pick(BenchEngine engine, Engine pick) {
  switch (engine) {
    case BenchEngine::native:
      return pick == Engine::native;
    case BenchEngine::interpreted:
      return pick == Engine::interpreted;
    case BenchEngine::portable:
      return pick == Engine::portable;
    case BenchEngine::dense:
      return pick == Engine::dense;
    default:
      return false;
  }
}

// The pick of the pass whose picked engine takes longer.
Engine pick_of_total(std::span<const Contender> contenders, std::span<const Samples> samples,
                     const Picks& picks) {
  PerPass<double> seconds = {};
  for (size_t i = 0; i < contenders.size(); ++i) {
    for (const Pass pass : kBothPasses) {
      const size_t p = index_of(pass);
      if (is_pick(contenders[i].engine, picks[p])) seconds[p] = quartiles(samples[i][p])[1];
    }
  }
  return seconds[0] > seconds[1] ? picks[0] : picks[1];
}

std::vector<double> samples_of(const Samples& samples, TimedPass pass) {
  if (pass != TimedPass::total) return samples[pass == TimedPass::forward ? 0 : 1];
  std::vector<double> sums = samples[0];
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += samples[1][i];
  return sums;
}

BenchResult make_result(const Problem& problem, TimedPass pass, const Contender& contender,
                        const Samples& samples) {
  BenchResult result;
  result.pass = pass;
  result.engine = contender.engine;
  const std::vector<double> seconds = samples_of(samples, pass);
  const auto [lower, median, upper] = quartiles(seconds);
  result.quartile1_ms = lower * 1e3;
  result.median_ms = median * 1e3;
  result.quartile3_ms = upper * 1e3;
  result.samples = static_cast<int64_t>(seconds.size());
  double operations = 0;
  for (const Pass part : parts_of(pass)) {
    const size_t p = index_of(part);
    operations += flops(problem.workload, problem.mask.nnz(), part);
    result.code_bytes += contender.code_bytes[p];
    result.compile_ms += contender.compile_ms[p];
    result.max_rel_error = std::max(result.max_rel_error, contender.max_rel_error[p]);
    const std::string& ran_on = contender.ran_on[p];
    if (result.ran_on != ran_on) result.ran_on += (result.ran_on.empty() ? "" : "+") + ran_on;
  }
  result.gflops = median > 0 ? operations / median * 1e-9 : 0;
  return result;
}

}  // namespace

std::vector<Pass> parts_of(TimedPass pass) {
  switch (pass) {
    case TimedPass::forward:
      return {Pass::forward};
    case TimedPass::backward:
      return {Pass::backward};
    case TimedPass::total:
      break;
  }
  return {kBothPasses.begin(), kBothPasses.end()};
}

std::vector<BenchResult> make_results(const Problem& problem, CacheState state,
                                      std::span<const TimedPass> passes,
                                      std::span<const Contender> contenders,
                                      std::span<const Samples> samples, const Picks& picks) {
  const Engine total_pick = pick_of_total(contenders, samples, picks);
  std::vector<BenchResult> results;
  for (size_t i = 0; i < contenders.size(); ++i) {
    for (const TimedPass pass : passes) {
      BenchResult result = make_result(problem, pass, contenders[i], samples[i]);
      result.state = state;
      const Engine pick = pass == TimedPass::total     ? total_pick
                          : pass == TimedPass::forward ? picks[0]
                                                       : picks[1];
      result.chosen = is_pick(result.engine, pick);
      results.push_back(result);
    }
  }
  return results;
}

const BenchResult* find_result(const WorkloadResults& group, TimedPass pass, BenchEngine engine,
                               CacheState state) {
  const auto found =
      std::find_if(group.results.begin(), group.results.end(), [&](const BenchResult& result) {
        return result.pass == pass && result.engine == engine && result.state == state;
      });
  return found == group.results.end() ? nullptr : &*found;
}

std::optional<double> find_median(const WorkloadResults& group, TimedPass pass,
                                  std::optional<BenchEngine> engine, CacheState state) {
  if (!engine && pass == TimedPass::total) {
    const std::optional<double> forward = find_median(group, TimedPass::forward, engine, state);
    const std::optional<double> backward = find_median(group, TimedPass::backward, engine, state);
    if (!forward || !backward) return std::nullopt;
    return *forward + *backward;
  }
  for (const BenchResult& result : group.results) {
    if (result.pass != pass || result.state != state) continue;
    if (engine ? result.engine == *engine : result.chosen) return result.median_ms;
  }
  return std::nullopt;
}

const BenchResult* find_dense(const WorkloadResults& group, TimedPass pass, CacheState state) {
  const BenchResult* fastest = nullptr;
  for (const BenchEngine engine : {BenchEngine::dense, BenchEngine::onednn}) {
    const BenchResult* dense = find_result(group, pass, engine, state);
    if (dense == nullptr) continue;
    if (fastest == nullptr || dense->median_ms < fastest->median_ms) fastest = dense;
  }
  return fastest;
}

std::optional<double> break_even_calls(const BenchResult& native, const BenchResult& interpreted) {
  const double saved_ms = interpreted.median_ms - native.median_ms;
  if (saved_ms <= 0) return std::nullopt;
  return std::ceil(native.compile_ms / saved_ms);
}

std::string describe(const WorkloadResults& group) {
  const std::string& mask = group.workload.mask_name;
  return fmt::format("{} sparsity {:.6g}, {} thread{}{}{}", layer_text(group.workload),
                     group.workload.sparsity, group.threads, group.threads == 1 ? "" : "s",
                     mask.empty() ? "" : ", mask ", mask);
}

}  // namespace sparsejit::frontend
