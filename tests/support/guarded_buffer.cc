// The mappings behind GuardedBuffer.
#include "support/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace sparsejit::test {
namespace {

constexpr auto kCanary = std::byte{0xA5};

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

GuardedBuffer::GuardedBuffer(int64_t count, Edge edge) : count_(count) {
  const size_t page = page_bytes();
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  body_bytes_ = (bytes + page - 1) / page * page;
  void* mapping = mmap(nullptr, body_bytes_ + 2 * page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  std::byte* body = mapping_ + page;
  if (body_bytes_ != 0) {
    if (mprotect(body, body_bytes_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    std::fill_n(body, body_bytes_, kCanary);
  }
  const size_t offset = edge == Edge::end ? body_bytes_ - bytes : 0;
  floats_ = reinterpret_cast<float*>(body + offset);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      body_bytes_(other.body_bytes_),
      floats_(other.floats_),
      count_(other.count_) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, body_bytes_ + 2 * page_bytes());
}

void GuardedBuffer::fill(float value) { std::fill_n(floats_, count_, value); }

void GuardedBuffer::make_read_only() {
  if (body_bytes_ != 0) mprotect(mapping_ + page_bytes(), body_bytes_, PROT_READ);
}

bool GuardedBuffer::canary_intact() const {
  const std::byte* body = mapping_ + page_bytes();
  const auto* first = reinterpret_cast<const std::byte*>(floats_);
  const auto* last = reinterpret_cast<const std::byte*>(floats_ + count_);
  const auto is_canary = [](std::byte value) { return value == kCanary; };
  return std::all_of(body, first, is_canary) && std::all_of(last, body + body_bytes_, is_canary);
}

}  // namespace sparsejit::test
