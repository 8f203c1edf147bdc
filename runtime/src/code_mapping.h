// The two ways of getting executable memory from the system. In neither is any page ever writable
// and executable at once.
//
//   private  anonymous pages are written, then turned read-execute as a whole. Large ones get huge
//            pages. Refused where what was writable may not become executable (SELinux,
//            PR_SET_MDWE).
//   CodeFile an unnamed memory file that is mapped read-execute from the start and written with
//            pwrite(). There is no writable view at all: code runs undisturbed while more is
//            written beside it, and nothing in the process can overwrite it by a stray pointer.
//
// A private mapping belongs to one process, a child has a copy. A CodeFile's bytes are shared with
// every child (code_memory.h keeps them apart).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sparsejit {

inline constexpr int64_t kHugePage = int64_t{2} << 20;

// Code that was emitted in several runs.
using Codes = std::span<const std::span<const uint8_t>>;

inline int64_t total_bytes(Codes codes) {
  int64_t bytes = 0;
  for (const std::span<const uint8_t> code : codes) bytes += static_cast<int64_t>(code.size());
  return bytes;
}

struct MappedCode {
  const uint8_t* begin = nullptr;  // null: refused
  std::string reason;              // why it was refused
};

// `size`: whole pages, at least total_bytes(codes). From kHugePage on the mapping is aligned to it.
MappedCode map_private_code(Codes codes, int64_t size);
void unmap_code(const uint8_t* begin, int64_t size);

class CodeFile {
 public:
  // Null where refused; `reason` then says why. Takes address space, but memory only once written.
  static std::unique_ptr<CodeFile> open(int64_t size, std::string& reason);
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;
  ~CodeFile();

  // False where the system has no memory left for it.
  bool write(int64_t offset, std::span<const uint8_t> bytes);
  // Gives the memory of whole pages back to the system; they read as zeros.
  void discard(int64_t offset, int64_t size);

  const uint8_t* begin() const { return begin_; }
  int64_t size() const { return size_; }

 private:
  CodeFile(int file, const uint8_t* begin, int64_t size)
      : file_(file), begin_(begin), size_(size) {}

  int file_;
  const uint8_t* begin_;
  int64_t size_;
};

}  // namespace sparsejit
