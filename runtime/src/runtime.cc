#include "sparsejit/runtime.h"

#include "picks_file.h"
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
  if (options.remembered_picks < 0 || options.remembered_picks > kMaxPicks) {
    throw_error("runtime: remembered_picks is {}, expected 0 to {}", options.remembered_picks,
                kMaxPicks);
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
bool Runtime::save_picks() { return impl_->save_picks(); }
int Runtime::threads() const { return impl_->pool.threads(); }
const MachineModel& Runtime::machine() const { return impl_->machine; }

std::string Runtime::executable_memory_problem() const {
  constexpr std::array<uint8_t, 1> kReturn{0xC3};
  const std::array<std::span<const uint8_t>, 1> code{kReturn};
  return impl_->cache.memory().publish(code).reason;
}

void Runtime::Impl::load_picks() {
  if (options.picks_file.empty() || picks.capacity() == 0) return;
  PicksFile file = read_picks_file(options.picks_file);
  if (!file.problem.empty()) warn_of_picks_file(file.problem);
  for (Pick& pick : file.picks) picks.add_older(std::move(pick));
}

// With what other processes have written meanwhile. Of two that write at the same moment, one may
// not see the news of the other.
bool Runtime::Impl::save_picks() {
  if (options.picks_file.empty() || picks.capacity() == 0) return false;
  const int64_t changes = picks.changes();
  PicksFile file = read_picks_file(options.picks_file);
  if (!file.problem.empty()) warn_of_picks_file(file.problem);
  if (file.foreign) return false;
  PickMemory merged(picks.capacity());
  for (Pick& pick : picks.picks()) merged.add_older(std::move(pick));
  for (Pick& pick : file.picks) merged.add_older(std::move(pick));
  const std::string problem = write_picks_file(options.picks_file, merged.picks());
  if (!problem.empty()) {
    warn_of_picks_file(problem);
    return false;
  }
  saved_changes_ = changes;
  return true;
}

void Runtime::Impl::warn_of_picks_file(const std::string& problem) {
  if (!warned_of_picks_file_.exchange(true)) warn(problem);
}

Runtime::Impl::~Impl() {
  try {
    if (picks.changes() != saved_changes_) save_picks();
  } catch (...) {
    // Memory, or the caller's log; a remembered pick is not worth more.
  }
}

}  // namespace sparsejit
