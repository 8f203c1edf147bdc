#include "sparsejit/runtime.h"

#include "runtime_impl.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr int kMaxThreads = 1024;

void validate_options(const RuntimeOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw_error("runtime: threads is {}, expected 1 to {}, or 0 for all cores", options.threads,
                kMaxThreads);
  }
  if (options.code_budget_bytes < 0) {
    throw_error("runtime: code_budget_bytes is {}, expected 0 or more", options.code_budget_bytes);
  }
}

}  // namespace

Runtime::Runtime(RuntimeOptions options) {
  validate_options(options);
  MachineModel machine = options.machine == nullptr ? detect_machine() : *options.machine;
  impl_ = std::make_shared<Impl>(std::move(options), std::move(machine));
}

Runtime& Runtime::shared() {
  static Runtime runtime;
  return runtime;
}

RuntimeStats Runtime::stats() const { return impl_->cache.stats(); }
int Runtime::threads() const { return impl_->pool.threads(); }
const MachineModel& Runtime::machine() const { return impl_->machine; }

std::string Runtime::executable_memory_problem() const {
  constexpr std::array<uint8_t, 1> kReturn{0xC3};
  const std::array<std::span<const uint8_t>, 1> code{kReturn};
  return impl_->cache.memory().publish(code).reason;
}

}  // namespace sparsejit
