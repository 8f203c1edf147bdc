// MaskSchedule: when the masks of a run change, and how.
//
// Update u of `updates` happens when `first + u*interval` steps are done:
//
//     first 2, interval 3, updates 3:   steps done  1 2 3 4 5 6 7 8 9
//                                       update        0     1     2
//
// Gradual magnitude pruning reaches its final sparsity with the last update that fits the run,
// however short: update u prunes to the cubic at (u+1)/updates. RigL and SET move a share that
// decays along a cosine, at u/updates, so that the last update still moves something.
// Plain data and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sparsejit/mask.h"
#include "train/train_options.h"

namespace sparsejit::frontend {

struct MaskSchedule {
  Method method = Method::fixed;
  double initial_sparsity = 0;
  double final_sparsity = 0;
  double fraction = 0;  // share of the stored weights the first RigL or SET update moves
  int64_t first = 0;
  int64_t interval = 1;
  int64_t updates = 0;
  bool operator==(const MaskSchedule&) const = default;
};

// Fills in what the options leave open for a run of `steps` steps: updates from a tenth to three
// quarters of the run, in about ten intervals. An end beyond the run is the end of the run. Throws
// Error when the first update is not in the run or comes after the end.
MaskSchedule plan_mask_schedule(const TrainOptions& options, int64_t steps);

// The update that is due once `steps_done` steps are done, if any.
std::optional<int64_t> update_due(const MaskSchedule& schedule, int64_t steps_done);

// The mask that update number `update` makes of `mask`. `gradient` is the dense gradient of
// rows*cols entries for RigL, else empty; `seed` drives the random growth of SET.
Mask next_mask(const MaskSchedule& schedule, int64_t update, const Mask& mask,
               std::span<const float> values, std::span<const float> gradient, uint64_t seed);

}  // namespace sparsejit::frontend
