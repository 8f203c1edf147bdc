// PanelKernel: what an engine makes of a plan. It runs parts of one block over one panel.
//
// Engines differ only here: how panels are cut, packed, shared among threads and put together is
// the same for all (pass_driver.h), and so is the order of every sum.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lowered_layer.h"

namespace sparsejit {

// Pointers at the start of a panel; the distance between streams is in the plan.
struct PanelOperands {
  const float* gathered = nullptr;
  float* own = nullptr;
  const float* paired = nullptr;
  const float* values = nullptr;  // in the plan's order
  const float* start = nullptr;   // accumulate: one a row, what sums start at
  float* d_values = nullptr;      // fused, products; added to where the plan has packed_values
  float* partial = nullptr;       // tiled: see tiled_panel.h; `gathered` are tiles of the block
};

class PanelKernel {
 public:
  virtual ~PanelKernel() = default;
  // Rows of parts [first_part, last_part), gathering from `block`, over `length` floats: a multiple
  // of the lanes up to the plan's panel, or with a tail up to 7 more; resident plans: the panel;
  // tiled plans: whole tiles.
  virtual void run(const PanelOperands& operands, int32_t block, int32_t first_part,
                   int32_t last_part, int64_t length) const = 0;
  virtual const Plan& plan() const = 0;
  // See packed_order in plan.h; empty where values are by index.
  virtual std::span<const int32_t> value_order() const = 0;
};

// Intrinsics, no generated code; the CPU must have AVX2 and FMA, for plans of strips AVX-512.
class InterpretedKernel : public PanelKernel {
 public:
  InterpretedKernel(LoweredLayerPtr lowered, Pass side, Plan plan);

  void run(const PanelOperands& operands, int32_t block, int32_t first_part, int32_t last_part,
           int64_t length) const override;
  const Plan& plan() const override { return plan_; }
  std::span<const int32_t> value_order() const override { return value_order_; }

 private:
  LoweredLayerPtr lowered_;
  const TapTable& table_;
  Plan plan_;
  std::vector<int32_t> offsets_;  // of each tap's gathered stream, in floats
  std::vector<int32_t> value_order_;
  std::vector<std::vector<TapGroup>> groups_;  // strip family: of each chunk
};

}  // namespace sparsejit
