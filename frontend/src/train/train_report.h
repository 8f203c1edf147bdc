// The end of a training run as text: what was trained, what it cost, and the same run on the
// other engines.
#pragma once

#include <string>
#include <vector>

#include "train/trainer.h"

namespace sparsejit::frontend {

// "UCI digits: 1438 training and 359 test images ..." and the network, before training starts.
std::string describe_run(const Dataset& data, const TrainOptions& options,
                         const MaskSchedule& schedule);

// Accuracy, time, code, cache and mask changes, and for compiled engines one line a kernel.
std::string describe_result(const TrainResult& result, const TrainOptions& options);

// One line for each run; the first is what the losses of the others are compared with.
std::string describe_comparison(const std::vector<TrainResult>& runs);

}  // namespace sparsejit::frontend
