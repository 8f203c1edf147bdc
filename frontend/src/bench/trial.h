// A short timing, for a baseline that chooses between two ways of doing a pass before it is
// measured. The best of a few calls: enough to tell which way is faster, no result.
#pragma once

#include <functional>

namespace sparsejit::frontend {

// Seconds of the fastest of a few calls after a first one that is not counted; a single call where
// one takes long.
double best_trial_seconds(const std::function<void()>& call);

}  // namespace sparsejit::frontend
