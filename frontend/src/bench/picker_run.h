// Runs an Engine::automatic layer until its picker has decided, to know which engine a user who
// leaves the choice to the library would get on this problem.
//
// The layer is called the way the contenders are timed: back to back for hot, with the Evictor
// before each call for cold, so the picker's own measurements see the same caches.
#pragma once

#include <span>

#include "bench/contender.h"
#include "bench/evictor.h"

namespace sparsejit::frontend {

// Engine::automatic where the picker was still measuring after kMaxPickerCalls, and for passes
// that were not asked for.
using Picks = PerPass<Engine>;

inline constexpr int kMaxPickerCalls = 1000;

Picks run_until_picked(Problem& problem, Runtime& runtime, std::span<const Pass> passes,
                       Evictor* evictor);

}  // namespace sparsejit::frontend
