// What a pass is expected to cost before it has been measured. Decides what cannot wait for a
// clock: whether compiling pays for a number of calls, and the engine of deterministic layers.
//
// Rough on purpose: right about which engine wins by much, not about a tenth.
#pragma once

#include <span>

#include "sparsejit/machine.h"
#include "sparsejit/plan.h"

namespace sparsejit {

// Seconds, on one thread.
struct PassCost {
  double native = 0;       // a call
  double interpreted = 0;  // a call
  double compile = 0;

  // Calls after which compiling has paid; 0: never.
  double break_even_calls() const {
    return native < interpreted ? compile / (interpreted - native) : 0;
  }
};

// `native`: the plans of the steps of generated code. `floats`: of a stream, in all; `rounds`: how
// often code is walked through in a call (slabs times panels).
PassCost predict_cost(std::span<const Plan> native, int64_t floats, int64_t rounds,
                      const MachineModel& machine);

}  // namespace sparsejit
