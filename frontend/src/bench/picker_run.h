// Runs layers until they have chosen among their candidates: of an Engine::automatic layer, to know
// which engine a user who leaves the choice to the library would get on this problem.
//
// The layer is called the way the contenders are timed: back to back for hot, with the Evictor
// before each call for cold, so the picker's own measurements see the same caches.
#pragma once

#include <optional>
#include <span>

#include "bench/contender.h"
#include "bench/evictor.h"

namespace sparsejit::frontend {

// Engine::automatic where the picker was still measuring after kMaxPickerCalls, and for passes
// that were not asked for.
using Picks = PerPass<Engine>;

inline constexpr int kMaxPickerCalls = 1000;

// Calls the layer at least once. What it reports then; see find_report.
std::optional<KernelReport> run_until_settled(const Layer& layer, Problem& problem, Pass pass,
                                              Evictor* evictor);

Picks run_until_picked(Problem& problem, Runtime& runtime, std::span<const Pass> passes,
                       Evictor* evictor);

}  // namespace sparsejit::frontend
