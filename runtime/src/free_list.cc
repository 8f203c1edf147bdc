// See free_list.h.
#include "free_list.h"

#include <algorithm>

#include "sparsejit/error.h"

namespace sparsejit {

std::optional<int64_t> FreeList::allocate(int64_t size) {
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->second >= size && (best == gaps_.end() || gap->second < best->second)) best = gap;
  }
  if (best == gaps_.end()) return std::nullopt;
  const auto [offset, gap_size] = *best;
  gaps_.erase(best);
  if (gap_size > size) gaps_.emplace(offset + size, gap_size - size);
  free_bytes_ -= size;
  return offset;
}

void FreeList::release(int64_t offset, int64_t size) {
  free_bytes_ += size;
  auto next = gaps_.lower_bound(offset);
  if (next != gaps_.end() && next->first == offset + size) {
    size += next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += size;
      return;
    }
  }
  gaps_.emplace_hint(next, offset, size);
}

int64_t FreeList::largest_gap() const {
  int64_t largest = 0;
  for (const auto& [offset, size] : gaps_) largest = std::max(largest, size);
  return largest;
}

}  // namespace sparsejit
