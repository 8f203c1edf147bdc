// CodeMemory: takes finished bytes, gives back an executable range. Never writable and executable
// at once.
//
//     arena  | kernel | kernel | free        | kernel | free ...              |   8 MiB, one
//     mapping
//
// * Kernels under 2 MiB share arenas: memory files mapped read-execute once (code_mapping.h), so
// that
//   writing a kernel never touches the protection of one that is running, and a process stays
//   far below the limit of 65,530 mappings. Ranges are whole pages; a freed one gives its memory
//   back at once and its addresses are reused. An arena without kernels is given back, but for one.
// * Larger kernels get private mappings with huge pages. Measured on Zen 4,
//   768 -> 3072 at 95%: without huge pages backward takes 2 to 8% longer at batch 32, where each
//   instruction is executed once a call; at batch 902, where code is walked in loops, nothing.
// * Where one way is refused the other is tried; where both are, the result says why.
//
// After a fork parent and child share the pages of the arenas. Both then only run and forget what
// is there, and open new arenas for new kernels: such *frozen* arenas are neither written to nor
// emptied in part, count as held in full, and are unmapped when their last kernel goes.
// Thread-safe, and usable in a child whatever other threads of the parent were doing here.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "code_mapping.h"
#include "free_list.h"

namespace sparsejit {

class CodeMemory;

struct CodeArena {
  CodeArena(std::unique_ptr<CodeFile> f, uint64_t forks)
      : file(std::move(f)), space(file->size()), opened_at_fork(forks) {}

  std::unique_ptr<CodeFile> file;
  FreeList space;
  uint64_t opened_at_fork;  // frozen once the process has forked more often than this
  int64_t stale_bytes = 0;  // freed after that: still held, a child may be running it
};

// Owns executable memory; freed with the last reference to it. Keeps its CodeMemory alive.
class CodeRange {
 public:
  // `arena`: where it lies, null for a private mapping.
  CodeRange(std::shared_ptr<CodeMemory> owner, CodeArena* arena, const uint8_t* begin, int64_t size)
      : owner_(std::move(owner)), arena_(arena), begin_(begin), size_(size) {}
  CodeRange(const CodeRange&) = delete;
  CodeRange& operator=(const CodeRange&) = delete;
  ~CodeRange();

  const uint8_t* begin() const { return begin_; }
  int64_t size() const { return size_; }

 private:
  std::shared_ptr<CodeMemory> owner_;
  CodeArena* arena_;
  const uint8_t* begin_;
  int64_t size_;  // whole pages
};

struct PublishResult {
  std::unique_ptr<const CodeRange> range;  // null: refused
  std::string reason;                      // why it was refused
};

// Bytes of memory that publishing `bytes` bytes of code takes.
int64_t published_size(int64_t bytes);

// What happens to freed bytes: their memory is given back, or (debug builds) kept and filled with
// 0xCC, so that a call into freed code traps.
enum class FreedCode { given_back, poisoned };
#ifdef NDEBUG
inline constexpr FreedCode kFreedCode = FreedCode::given_back;
#else
inline constexpr FreedCode kFreedCode = FreedCode::poisoned;
#endif

struct CodeMemoryOptions {
  FreedCode freed = kFreedCode;
  // Private mappings for small kernels too, where they are not refused. A debugger sets a
  // breakpoint by writing into the code, which the system refuses in shared mappings; and perf
  // (6.1) looks names up in a perf map only for anonymous memory.
  bool prefer_private = false;
};

struct CodeMemoryStats {
  int64_t held_bytes = 0;  // memory: ranges in existence, in whole pages, and what is stale
  int64_t arenas = 0;
  int64_t frozen_arenas = 0;  // of these
  int64_t mapped_bytes = 0;   // address space of arenas and private mappings
  int64_t free_bytes = 0;     // in arenas that are not frozen
  int64_t largest_free_bytes = 0;
};

class CodeMemory : public std::enable_shared_from_this<CodeMemory> {
 public:
  static std::shared_ptr<CodeMemory> create(CodeMemoryOptions options = {});

  // The codes, one after the other.
  PublishResult publish(Codes codes);
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  CodeMemoryStats stats() const;

 private:
  friend class CodeRange;
  explicit CodeMemory(CodeMemoryOptions options) : options_(options) {}

  PublishResult publish_in_arena(Codes codes, int64_t size);
  PublishResult publish_privately(Codes codes, int64_t size);
  std::unique_ptr<const CodeRange> allocate(int64_t size, CodeArena*& arena, std::string& reason);
  std::unique_ptr<const CodeRange> range_in(CodeArena& arena, int64_t offset, int64_t size);
  void release(CodeArena* arena, const uint8_t* begin, int64_t size);
  void drop_if_empty(CodeArena* arena);

  const CodeMemoryOptions options_;
  std::list<CodeArena> arenas_;  // oldest first
  std::atomic<int64_t> held_bytes_{0};
  std::atomic<int64_t> private_bytes_{0};
};

}  // namespace sparsejit
