// Pruning and growth: one mask and its weights in, the next mask out. Pure functions, no I/O.
//
// Position = row*cols + column; value index = rank among the stored positions. Magnitude order
// is total and the same everywhere: |w| compared by its bits, so that NaN counts as the largest;
// among equal magnitudes the lower position goes first, both when dropping and when growing:
//
//     magnitude prune to 2 of w = [0.5 -0.2 0.5 0.5]:  drops 1 (smallest), then 0 (first tie)
//
// A mask is never guessed from values: a stored weight that happens to be 0.0 stays stored until
// a rule drops it. What a new weight starts at is the caller's business (MaskChange::move).
#pragma once

#include <cstdint>
#include <span>

#include "sparsejit/mask.h"

namespace sparsejit::frontend {

// Weights left of `positions` at `sparsity`: exactly round(sparsity * positions) are not stored.
int64_t stored_weights(int64_t positions, double sparsity);

// Drops the smallest weights until `stored` are left; returns `mask` if it stores no more.
Mask prune_by_magnitude(const Mask& mask, std::span<const float> values, int64_t stored);

// RigL: drops the `moved` smallest weights, then stores the `moved` positions with the largest
// dense gradient among all that are then free, those just dropped included.
// `gradient` has rows*cols entries.
Mask rigl_step(const Mask& mask, std::span<const float> values, std::span<const float> gradient,
               int64_t moved);

// SET: drops the `moved` smallest weights, then stores `moved` positions drawn without bias from
// those that were free before. Fewer than `moved` free positions move only as many.
Mask set_step(const Mask& mask, std::span<const float> values, int64_t moved, uint64_t seed);

// Gradual magnitude pruning: `from` at progress 0, `to` at progress 1, fast first:
// to + (from - to) * (1 - progress)^3.
double cubic_sparsity(double from, double to, double progress);

// RigL and SET: the share of weights that moves, `initial` at progress 0, none at progress 1:
// initial / 2 * (1 + cos(pi * progress)).
double cosine_fraction(double initial, double progress);

}  // namespace sparsejit::frontend
