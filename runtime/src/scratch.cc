#include "scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace sparsejit {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// More idle buffers than this are given back to the system.
constexpr size_t kMaxIdle = 16;

}  // namespace

ScratchPool::Buffer::~Buffer() {
  if (data_ != nullptr) pool_->give_back(data_, size_);
}

ScratchPool::~ScratchPool() {
  for (const Free& buffer : free_) std::free(buffer.data);
}

ScratchPool::Buffer ScratchPool::take(int64_t floats) {
  if (floats == 0) return {};
  const std::lock_guard lock(mutex_);
  const auto fits = std::find_if(free_.begin(), free_.end(),
                                 [&](const Free& buffer) { return buffer.size >= floats; });
  if (fits != free_.end()) {
    const Free found = *fits;
    free_.erase(fits);
    return {this, found.data, found.size};
  }
  const size_t wanted = floats * sizeof(float);
  const size_t alignment = wanted >= kHugePage / 2 ? kHugePage : kLine;
  const size_t bytes = (wanted + alignment - 1) / alignment * alignment;
  auto* data = static_cast<float*>(std::aligned_alloc(alignment, bytes));
  if (data == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(data, bytes, MADV_HUGEPAGE);  // a wish, may be refused
  return {this, data, static_cast<int64_t>(bytes / sizeof(float))};
}

// Kept smallest first, so that take() finds the tightest fit; the smallest goes when too many.
void ScratchPool::give_back(float* data, int64_t size) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(free_.begin(), free_.end(),
                               [&](const Free& buffer) { return buffer.size >= size; });
  free_.insert(at, {data, size});
  if (free_.size() > kMaxIdle) {
    std::free(free_.front().data);
    free_.erase(free_.begin());
  }
}

}  // namespace sparsejit
