// PickMemory: which candidate was picked in which situation (pick_key.h), so that a further layer
// need not measure again. Bounded: the pick that was not asked for longest goes first.
//
// Thread-safe, and usable in a forked child whatever other threads were doing here.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sparsejit {

// Most that a memory, or a file, may hold.
inline constexpr int64_t kMaxPicks = 65536;

struct Pick {
  std::string key;
  std::string candidate;  // its name
  bool operator==(const Pick&) const = default;
};

class PickMemory {
 public:
  // 0: remembers nothing.
  explicit PickMemory(int64_t capacity) : capacity_(capacity) {}

  // The name of a candidate, or empty.
  std::string find(std::string_view key);
  void remember(Pick pick);
  // Behind all others and without replacing one.
  void add_older(Pick pick);
  // Latest first.
  std::vector<Pick> picks() const;
  int64_t capacity() const { return capacity_; }
  // How often `remember` was told something new.
  int64_t changes() const;

 private:
  using Picks = std::list<Pick>;
  void drop_last();

  const int64_t capacity_;
  // The rest is guarded by ForkLock::picks.
  Picks picks_;
  std::unordered_map<std::string_view, Picks::iterator> index_;  // keys lie in picks_
  int64_t changes_ = 0;
};

}  // namespace sparsejit
