// train: one training run, from the first weights to the test accuracy. Prints nothing; whoever
// wants to watch passes an observer.
//
//     for each epoch: shuffle; for each batch: forward, loss, backward, update, maybe new masks
//
// Deterministic: the same data, options and seed give the same losses, bit for bit, on auto, jit
// and interpreted and with any number of threads; dense agrees within rounding until a rounding
// difference tips a choice of the pruning rule.
//
// Times are wall-clock. An epoch's seconds contain code generation and mask changes, but not the
// evaluation on the test images.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/sparsejit.h"
#include "train/dataset.h"
#include "train/mask_schedule.h"
#include "train/train_options.h"

namespace sparsejit::frontend {

struct StepReport {
  int64_t epoch = 0;  // from 0
  int64_t step = 0;   // inside the epoch, from 0
  int64_t steps = 0;  // of an epoch
  double loss = 0;    // mean over the epoch so far
  double accuracy = 0;
  double seconds = 0;
};

struct MaskUpdate {
  int64_t steps_done = 0;  // of the whole run
  size_t layer = 0;        // hidden layer, from 0
  double sparsity = 0;
  double seconds = 0;  // dense gradient, new mask, set_mask, moving values and momentum
  MaskChange change;
};

struct EpochReport {
  int64_t epoch = 0;
  double loss = 0;
  double train_accuracy = 0;  // of the batches as they were trained on
  double test_accuracy = 0;
  double seconds = 0;
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepReport& /*report*/) {}
  virtual void on_mask_update(const MaskUpdate& /*update*/) {}
  virtual void on_epoch(const EpochReport& /*report*/) {}
  virtual void on_remark(const std::string& /*text*/) {}
};

struct LayerSummary {
  MaskShape shape;
  int64_t stored = 0;
  std::vector<KernelReport> kernels;
};

struct TrainResult {
  TrainEngine engine = TrainEngine::automatic;
  std::vector<EpochReport> epochs;
  std::vector<LayerSummary> hidden;
  int64_t mask_changes = 0;  // updates that really changed a layer's mask
  double mask_seconds = 0;
  RuntimeStats stats;

  double seconds_per_epoch() const;  // median
  double total_seconds() const;      // sum over the epochs
};

// Expects validated options and the schedule planned from them. Throws Error when the loss stops
// being finite.
TrainResult train(const Dataset& data, const TrainOptions& options, const MaskSchedule& schedule,
                  TrainEngine engine, TrainObserver& observer);

}  // namespace sparsejit::frontend
