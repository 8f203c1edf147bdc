// See pick_memory.h.
#include "pick_memory.h"

#include "fork.h"

namespace sparsejit {
namespace {

using Lock = std::lock_guard<std::mutex>;

}  // namespace

std::string PickMemory::find(std::string_view key) {
  const Lock lock(fork_lock(ForkLock::picks));
  const auto found = index_.find(key);
  if (found == index_.end()) return {};
  picks_.splice(picks_.begin(), picks_, found->second);
  return found->second->candidate;
}

void PickMemory::remember(Pick pick) {
  if (capacity_ == 0) return;
  const Lock lock(fork_lock(ForkLock::picks));
  if (const auto found = index_.find(pick.key); found != index_.end()) {
    if (found->second->candidate != pick.candidate) ++changes_;
    found->second->candidate = std::move(pick.candidate);
    picks_.splice(picks_.begin(), picks_, found->second);
    return;
  }
  picks_.push_front(std::move(pick));
  index_[picks_.front().key] = picks_.begin();
  ++changes_;
  if (std::ssize(picks_) > capacity_) drop_last();
}

void PickMemory::add_older(Pick pick) {
  const Lock lock(fork_lock(ForkLock::picks));
  if (std::ssize(picks_) >= capacity_ || index_.contains(pick.key)) return;
  picks_.push_back(std::move(pick));
  index_[picks_.back().key] = std::prev(picks_.end());
}

void PickMemory::drop_last() {
  index_.erase(picks_.back().key);
  picks_.pop_back();
}

std::vector<Pick> PickMemory::picks() const {
  const Lock lock(fork_lock(ForkLock::picks));
  return {picks_.begin(), picks_.end()};
}

int64_t PickMemory::changes() const {
  const Lock lock(fork_lock(ForkLock::picks));
  return changes_;
}

}  // namespace sparsejit
