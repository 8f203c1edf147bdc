// Emitted code run directly, without the runtime: chunk by chunk over guarded buffers of the plan's
// pitches, against the naive reference. All families but the tiled one.
#pragma once

#include "support/guarded_buffer.h"
#include "support/plans.h"

namespace sparsejit::test {

struct KernelRun {
  const Mask& mask;
  const KernelCase& kernel;
  Edge edge = Edge::end;
  MachineModel machine;
};

// Returns the plan that ran.
Plan expect_matches_reference(const KernelRun& run);

}  // namespace sparsejit::test
