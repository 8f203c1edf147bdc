// Scratch: cache-line aligned buffers that are reused between calls instead of being allocated.
// Thread-safe; a buffer goes back to its pool when it is destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sparsejit {

class ScratchPool {
 public:
  class Buffer {
   public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(data_, other.data_);
      std::swap(size_, other.size_);
      return *this;
    }
    ~Buffer();
    float* data() const { return data_; }

   private:
    friend class ScratchPool;
    Buffer(ScratchPool* pool, float* data, int64_t size) : pool_(pool), data_(data), size_(size) {}
    ScratchPool* pool_ = nullptr;
    float* data_ = nullptr;
    int64_t size_ = 0;
  };

  ~ScratchPool();
  // At least `floats` floats with any content; data() is null for 0. Throws std::bad_alloc.
  Buffer take(int64_t floats);

 private:
  struct Free {
    float* data;
    int64_t size;
  };
  void give_back(float* data, int64_t size);

  std::mutex mutex_;
  std::vector<Free> free_;
};

}  // namespace sparsejit
