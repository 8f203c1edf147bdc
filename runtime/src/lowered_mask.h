// A mask with the tap tables of both passes; made once per mask of a layer and shared.
#pragma once

#include <memory>

#include "sparsejit/mask.h"
#include "sparsejit/plan.h"
#include "sparsejit/taps.h"

namespace sparsejit {

struct LoweredMask {
  explicit LoweredMask(const Mask& m)
      : mask(m), forward(lower_linear(m)), backward(transpose(forward)) {}

  const TapTable& table(Pass pass) const { return pass == Pass::forward ? forward : backward; }

  Mask mask;
  TapTable forward;
  TapTable backward;
};

using LoweredMaskPtr = std::shared_ptr<const LoweredMask>;

}  // namespace sparsejit
