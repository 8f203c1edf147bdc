// ExecutableCode: emitted bytes mapped for execution, without the runtime. Written first, then made
// executable; never both. Not thread-safe; owns its mapping.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "sparsejit/emit.h"

namespace sparsejit::test {

class ExecutableCode {
 public:
  explicit ExecutableCode(const KernelCode& code) : code_(code), size_(code.bytes.size() + 1) {
    mapping_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    std::memcpy(mapping_, code.bytes.data(), code.bytes.size());
    if (mprotect(mapping_, size_, PROT_READ | PROT_EXEC) != 0) throw std::bad_alloc();
  }
  ExecutableCode(const ExecutableCode&) = delete;
  ExecutableCode& operator=(const ExecutableCode&) = delete;
  ~ExecutableCode() { munmap(mapping_, size_); }

  ChunkEntry chunk(size_t index) const {
    const uint8_t* begin = static_cast<const uint8_t*>(mapping_) + code_.chunk_begin[index];
    return reinterpret_cast<ChunkEntry>(reinterpret_cast<uintptr_t>(begin));
  }

 private:
  const KernelCode& code_;
  size_t size_;
  void* mapping_ = nullptr;
};

}  // namespace sparsejit::test
