// See fork.h.
#include "fork.h"

#include <pthread.h>

#include <array>
#include <atomic>

namespace sparsejit {
namespace {

constexpr size_t kLocks = static_cast<size_t>(ForkLock::picks) + 1;

// Never destroyed: kernels of static objects may be released later than anything here would.
struct ForkState {
  std::array<std::mutex, kLocks> locks;
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> generation{0};
  bool registered = false;
};

ForkState& state();

void before_fork() {
  for (std::mutex& lock : state().locks) lock.lock();
  ++state().count;
}

void unlock_all() {
  for (size_t i = kLocks; i > 0; --i) state().locks[i - 1].unlock();
}

void in_child() {
  ++state().generation;
  unlock_all();
}

ForkState& state() {
  static ForkState* const instance = [] {
    auto* made = new ForkState;
    made->registered = pthread_atfork(before_fork, unlock_all, in_child) == 0;
    return made;
  }();
  return *instance;
}

}  // namespace

std::mutex& fork_lock(ForkLock lock) { return state().locks[static_cast<size_t>(lock)]; }
bool forks_are_seen() { return state().registered; }
uint64_t fork_count() { return state().count; }
uint64_t fork_generation() { return state().generation; }

}  // namespace sparsejit
