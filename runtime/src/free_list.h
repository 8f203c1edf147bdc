// FreeList: which parts of a fixed stretch of bytes are free. Offsets only, no memory.
//
//     0        4096      12288          65536
//     | used   | free    | used         | free ... |      allocate(8192) takes the first gap: it
//     fits best
//
// Best fit: of all gaps that are large enough the smallest one is cut, so that large gaps stay for
// large kernels. Neighbouring gaps become one at once. Sizes are the caller's to align. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace sparsejit {

class FreeList {
 public:
  explicit FreeList(int64_t size) : size_(size), free_bytes_(size) { gaps_.emplace(0, size); }

  // Offset of `size` bytes that are used from now on; empty if no gap is large enough.
  std::optional<int64_t> allocate(int64_t size);
  // Exactly what allocate() gave.
  void release(int64_t offset, int64_t size);

  int64_t free_bytes() const { return free_bytes_; }
  int64_t largest_gap() const;
  bool all_free() const { return free_bytes_ == size_; }

 private:
  int64_t size_;
  int64_t free_bytes_;
  std::map<int64_t, int64_t> gaps_;  // offset -> bytes; no two touch
};

}  // namespace sparsejit
