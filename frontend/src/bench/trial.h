// A short timing, for a baseline that chooses between two ways of doing a pass before it is
// measured. The best of a few calls: enough to tell which way is faster, no result.
#pragma once

#include <functional>

#include "sparsejit/layer.h"

namespace sparsejit::frontend {

// Seconds of the fastest of a few calls after a first one that is not counted; a single call where
// one takes long.
double best_trial_seconds(const std::function<void()>& call);

// The layout on which `run` is faster.
Layout faster_layout(const std::function<void(Layout)>& run);

}  // namespace sparsejit::frontend
