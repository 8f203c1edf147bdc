// Turns options into update steps and an update into a new mask; see mask_schedule.h. The rules
// themselves are in pruning.cc.
#include "train/mask_schedule.h"

#include <algorithm>
#include <cmath>

#include "sparsejit/error.h"
#include "train/pruning.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kDefaultIntervals = 10;

double progress_of(int64_t done, const MaskSchedule& schedule) {
  return static_cast<double>(done) / static_cast<double>(schedule.updates);
}

int64_t moved_weights(const MaskSchedule& schedule, int64_t update, const Mask& mask) {
  const double share = cosine_fraction(schedule.fraction, progress_of(update, schedule));
  return std::llround(share * static_cast<double>(mask.nnz()));
}

}  // namespace

MaskSchedule plan_mask_schedule(const TrainOptions& options, int64_t steps) {
  MaskSchedule schedule;
  schedule.method = options.method;
  schedule.final_sparsity = options.sparsity;
  schedule.initial_sparsity =
      options.method == Method::gmp ? options.initial_sparsity.value_or(0.0) : options.sparsity;
  if (options.method == Method::fixed) return schedule;
  schedule.fraction = options.update_fraction.value_or(kDefaultUpdateFraction);
  schedule.first = options.update_start.value_or(std::max<int64_t>(1, steps / 10));
  if (schedule.first > steps) {
    throw_error("--update-start: {} is too late; expected at most the {} steps of this run",
                schedule.first, steps);
  }
  const int64_t planned_end = options.update_end.value_or(std::max(schedule.first, steps * 3 / 4));
  if (planned_end < schedule.first) {
    throw_error("--update-end: {} is too early; expected at least {}, where updates start",
                planned_end, schedule.first);
  }
  const int64_t length = std::min(planned_end, steps) - schedule.first;
  schedule.interval =
      options.update_interval.value_or(std::max<int64_t>(1, length / kDefaultIntervals));
  schedule.updates = length / schedule.interval + 1;
  return schedule;
}

std::optional<int64_t> update_due(const MaskSchedule& schedule, int64_t steps_done) {
  const int64_t distance = steps_done - schedule.first;
  if (distance < 0 || distance % schedule.interval != 0) return std::nullopt;
  const int64_t update = distance / schedule.interval;
  if (update >= schedule.updates) return std::nullopt;
  return update;
}

Mask next_mask(const MaskSchedule& schedule, int64_t update, const Mask& mask,
               std::span<const float> values, std::span<const float> gradient, uint64_t seed) {
  switch (schedule.method) {
    case Method::fixed:
      return mask;
    case Method::gmp: {
      const double sparsity = cubic_sparsity(schedule.initial_sparsity, schedule.final_sparsity,
                                             progress_of(update + 1, schedule));
      return prune_by_magnitude(mask, values, stored_weights(mask.rows() * mask.cols(), sparsity));
    }
    case Method::rigl:
      return rigl_step(mask, values, gradient, moved_weights(schedule, update, mask));
    case Method::set:
      return set_step(mask, values, moved_weights(schedule, update, mask), seed);
  }
  return mask;
}

}  // namespace sparsejit::frontend
