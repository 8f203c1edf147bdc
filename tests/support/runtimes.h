// Runtimes for tests: options that differ from the defaults in one thing each.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sparsejit/runtime.h"

namespace sparsejit::test {

inline RuntimeOptions with_threads(int threads) {
  RuntimeOptions options;
  options.threads = threads;
  return options;
}

inline RuntimeOptions with_code_budget(int64_t bytes, int threads = 1) {
  RuntimeOptions options = with_threads(threads);
  options.code_budget_bytes = bytes;
  return options;
}

inline RuntimeOptions with_machine(MachineModel machine, int threads = 1) {
  RuntimeOptions options = with_threads(threads);
  options.machine = std::make_shared<const MachineModel>(std::move(machine));
  return options;
}

}  // namespace sparsejit::test
