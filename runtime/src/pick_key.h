// The situation in which a pick was made, as one line of text: what must be alike for the pick to
// hold again.
//
//     3072x768 density -13 imbalance 0 conv 1x1 0.0.0.0 1x1 1 image 1x1 forward direct 11 merged
//     relu 0 batch 902 avx2 threads 1 of native,interpreted cpu AMD EPYC
//
// density is log2, rounded to quarters: masks within about a tenth share a key. imbalance, of the
// fullest row over the mean, is 0 up to 3, 1 up to 12, 2 up to 48. "of" lists the candidates among
// which the choice was.
#pragma once

#include <span>
#include <string>

#include "lowered_layer.h"
#include "pass_shape.h"
#include "sparsejit/machine.h"

namespace sparsejit {

struct PickSituation {
  const LayerSpec& spec;
  const PassShape& shape;
  bool relu = false;
  const MachineModel& machine;
  int threads = 1;
  std::span<const char* const> candidates;
};

std::string pick_key(const PickSituation& situation);

}  // namespace sparsejit
