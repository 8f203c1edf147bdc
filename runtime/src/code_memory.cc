#include "code_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sparsejit {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

// A writable mapping; large ones start at a huge page boundary so that the kernel can use one.
uint8_t* map_writable(int64_t size) {
  const int64_t slack = size >= kHugePage ? kHugePage : 0;
  void* memory =
      mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(memory);
  if (slack == 0) return begin;
  const int64_t lead = (kHugePage - reinterpret_cast<intptr_t>(begin) % kHugePage) % kHugePage;
  if (lead > 0) munmap(begin, lead);
  if (slack > lead) munmap(begin + lead + size, slack - lead);
  madvise(begin + lead, size, MADV_HUGEPAGE);
  return begin + lead;
}

PublishResult refused(const char* what) {
  return {.range = nullptr,
          .reason = fmt::format("no executable memory: {}: {}", what, std::strerror(errno))};
}

PublishResult publish_by_protection(std::span<const uint8_t> bytes, int64_t size) {
  uint8_t* memory = map_writable(size);
  if (memory == nullptr) return refused("mmap");
  std::memcpy(memory, bytes.data(), bytes.size());
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
    const PublishResult result = refused("mprotect to read-execute");
    munmap(memory, size);
    return {.range = nullptr, .reason = result.reason};
  }
  return {.range = std::make_unique<CodeRange>(memory, size), .reason = {}};
}

// The writable view is gone before the executable one exists.
PublishResult publish_by_memory_file(std::span<const uint8_t> bytes, int64_t size) {
  const int file = memfd_create("sparsejit-code", MFD_CLOEXEC);
  if (file < 0) return refused("memfd_create");
  PublishResult result;
  void* writable = MAP_FAILED;
  if (ftruncate(file, size) == 0) {
    writable = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (writable == MAP_FAILED) {
    result = refused("memory file");
  } else {
    std::memcpy(writable, bytes.data(), bytes.size());
    munmap(writable, size);
    void* code = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    if (code == MAP_FAILED) {
      result = refused("mmap of a memory file to execute");
    } else {
      result.range = std::make_unique<CodeRange>(static_cast<const uint8_t*>(code), size);
    }
  }
  close(file);
  return result;
}

}  // namespace

CodeRange::~CodeRange() { munmap(const_cast<uint8_t*>(begin_), size_); }

// Large kernels take whole huge pages.
int64_t published_size(int64_t bytes) {
  const int64_t page = bytes >= kHugePage ? kHugePage : sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

PublishResult publish_code(std::span<const uint8_t> bytes) {
  const int64_t size = published_size(static_cast<int64_t>(bytes.size()));
  PublishResult result = publish_by_protection(bytes, size);
  if (result.range != nullptr) return result;
  return publish_by_memory_file(bytes, size);
}

}  // namespace sparsejit
