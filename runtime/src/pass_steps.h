// The steps of a pass: which kernels it takes, over which slabs, and what each is asked for.
//
//     forward                           accumulate by destination
//     backward without dx               products by destination; in strips by source
//     backward without d_values         accumulate by source
//     backward                          fused by source; or, unrolled code for short streams,
//                                       accumulate by source, then products by destination
//
// Two steps read more but need fewer bytes of code for each tap, which is what short streams are
// bound by. Where taps have shifts, products by destination and by source would add the same terms
// in other lanes; such layers take one step. So all ways give the same bits. Pure functions.
#pragma once

#include <memory>
#include <vector>

#include "panel_kernel.h"
#include "pass_driver.h"
#include "pass_shape.h"
#include "slabs.h"

namespace sparsejit {

// One kernel over all slabs of a pass.
struct Step {
  KernelKind kind = KernelKind::accumulate;
  Pass side = Pass::forward;  // whose table: forward by destination, backward by source
  Pitches direct;
  std::shared_ptr<const PanelKernel> kernel;

  InPlace in_place() const { return {direct.gathered != 0, direct.own != 0, direct.paired != 0}; }
};
using Steps = std::shared_ptr<const std::vector<Step>>;

// How a candidate wants its steps: what is not asked for is as plain generated code has it.
struct StepStyle {
  bool interpreted = false;  // for intrinsics
  bool tiled = false;        // accumulate by destination in tiles; see can_tile
  bool table = false;        // kernels that read a table; see can_use_table
};

// A pass over tensors of one shape.
struct PassGeometry {
  const LoweredLayer& lowered;
  const PassShape& shape;
  const Slabs& slabs;
  const MachineModel& machine;
};

// Packs what is better packed than used in place.
void settle_layout(PassShape& shape, const LoweredLayer& lowered);
Slabs pass_slabs(const LoweredLayer& lowered, const PassShape& shape, const MachineModel& machine);
// Whether the pass has a step that can run in tiles: the forward pass.
// Backward steps make sums of gradients, which tiles would have to keep in memory: 0.6 to 0.8 of
// the speed of fused kernels (bench/README.md).
bool can_tile(const PassGeometry& geometry);
// Whether all steps of the pass can be kernels of the table family: short streams.
bool can_use_table(const PassGeometry& geometry);
// Without kernels yet.
std::vector<Step> pass_steps(const PassGeometry& geometry, const StepStyle& style);
KernelRequest step_request(const PassGeometry& geometry, const Step& step, const StepStyle& style,
                           bool relu);

}  // namespace sparsejit
