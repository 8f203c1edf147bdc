// The automatic layer; see picker_run.h.
#include "bench/picker_run.h"

namespace sparsejit::frontend {

Picks run_until_picked(Problem& problem, Runtime& runtime, std::span<const Pass> passes,
                       Evictor* evictor) {
  Picks picks;
  picks.fill(Engine::automatic);
  const Layer layer = make_layer(problem, Engine::automatic, runtime);
  for (const Pass pass : passes) {
    Engine& pick = picks[index_of(pass)];
    for (int call = 0; call < kMaxPickerCalls && pick == Engine::automatic; ++call) {
      if (evictor != nullptr) evictor->run();
      run_layer(layer, problem, pass);
      pick = engine_of(find_report(layer, problem.workload, pass));
    }
  }
  return picks;
}

}  // namespace sparsejit::frontend
