// What the runtime does about fork().
//
// The locks listed here guard state of the whole process. Whoever forks holds all of them, so that
// a child never finds one taken, or what it guards half changed. A thread that takes several takes
// them in this order.
#pragma once

#include <cstdint>
#include <mutex>

namespace sparsejit {

enum class ForkLock {
  background_job,  // held while a kernel is compiled in the background
  background_queue,
  workers,   // which threads belong to a pool
  caches,    // entries of kernel caches
  arenas,    // free space in code arenas
  listings,  // what profilers were told
  picks,     // what pickers chose; the last
};

std::mutex& fork_lock(ForkLock lock);

// False (no memory for the handlers): forks go unnoticed.
bool forks_are_seen();

// Forks so far of this process and of those it was forked from, up to where they parted.
uint64_t fork_count();

// Differs between a process and its children: threads of an older generation do not exist here.
uint64_t fork_generation();

}  // namespace sparsejit
