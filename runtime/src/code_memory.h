// CodeMemory: takes finished bytes, gives back an executable range. Never writable and executable
// at once: pages are written, then turned read-execute; where turning is refused (SELinux,
// PR_SET_MDWE) a memory file is mapped twice instead, once to write and once to execute.
//
// One mapping a kernel for now; the interface is what an arena needs too. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sparsejit {

// Owns executable memory; freed with the last reference to it.
class CodeRange {
 public:
  CodeRange(const uint8_t* begin, int64_t size) : begin_(begin), size_(size) {}
  CodeRange(const CodeRange&) = delete;
  CodeRange& operator=(const CodeRange&) = delete;
  ~CodeRange();

  const uint8_t* begin() const { return begin_; }
  int64_t size() const { return size_; }

 private:
  const uint8_t* begin_;
  int64_t size_;  // whole pages
};

struct PublishResult {
  std::unique_ptr<const CodeRange> range;  // null: refused
  std::string reason;                      // why it was refused
};

// Bytes of memory that publishing `bytes` bytes of code takes.
int64_t published_size(int64_t bytes);

PublishResult publish_code(std::span<const uint8_t> bytes);

}  // namespace sparsejit
