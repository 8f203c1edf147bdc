// The automatic layer; see picker_run.h.
#include "bench/picker_run.h"

namespace sparsejit::frontend {

std::optional<KernelReport> run_until_settled(const Layer& layer, Problem& problem, Pass pass,
                                              Evictor* evictor) {
  std::optional<KernelReport> report;
  for (int call = 0; call < kMaxPickerCalls; ++call) {
    if (evictor != nullptr) evictor->run();
    run_layer(layer, problem, pass);
    report = find_report(layer, problem.workload, pass);
    if (!report || (!report->measuring && report->engine != Engine::automatic)) break;
  }
  return report;
}

Picks run_until_picked(Problem& problem, Runtime& runtime, std::span<const Pass> passes,
                       Evictor* evictor) {
  Picks picks;
  picks.fill(Engine::automatic);
  const Layer layer = make_layer(problem, Engine::automatic, runtime);
  for (const Pass pass : passes) {
    picks[index_of(pass)] = engine_of(run_until_settled(layer, problem, pass, evictor));
  }
  return picks;
}

}  // namespace sparsejit::frontend
