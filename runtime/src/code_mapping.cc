// See code_mapping.h.
#include "code_mapping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sparsejit {
namespace {

std::string refusal(const char* what) {
  return fmt::format("no executable memory: {}: {}", what, std::strerror(errno));
}

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

}  // namespace

MappedCode map_private_code(Codes codes, int64_t size) {
  uint8_t* memory = map_writable(size);
  if (memory == nullptr) return {.begin = nullptr, .reason = refusal("mmap")};
  uint8_t* at = memory;
  for (const std::span<const uint8_t> code : codes) {
    at = std::copy(code.begin(), code.end(), at);
  }
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
    std::string reason = refusal("mprotect to read-execute");
    munmap(memory, size);
    return {.begin = nullptr, .reason = std::move(reason)};
  }
  return {.begin = memory, .reason = {}};
}

void unmap_code(const uint8_t* begin, int64_t size) { munmap(const_cast<uint8_t*>(begin), size); }

std::unique_ptr<CodeFile> CodeFile::open(int64_t size, std::string& reason) {
  const int file = memfd_create("sparsejit-code", MFD_CLOEXEC);
  if (file < 0) {
    reason = refusal("memfd_create");
    return nullptr;
  }
  void* code = MAP_FAILED;
  if (ftruncate(file, size) == 0) {
    code = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  }
  if (code == MAP_FAILED) {
    reason = refusal("mmap of a memory file to execute");
    close(file);
    return nullptr;
  }
  return std::unique_ptr<CodeFile>(new CodeFile(file, static_cast<const uint8_t*>(code), size));
}

CodeFile::~CodeFile() {
  unmap_code(begin_, size_);
  close(file_);
}

bool CodeFile::write(int64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return true;
}

// Where the system cannot, the memory stays until the file is closed.
void CodeFile::discard(int64_t offset, int64_t size) {
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
}

}  // namespace sparsejit
