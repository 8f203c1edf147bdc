// See code_memory.h.
#include "code_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "fork.h"

namespace sparsejit {
namespace {

// Most layers' kernels take 10 KiB to 1 MiB. Address space costs nothing until it is written.
constexpr int64_t kArenaBytes = int64_t{8} << 20;
constexpr uint8_t kPoison = 0xCC;  // int3

std::mutex& arenas_lock() { return fork_lock(ForkLock::arenas); }

int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

void poison(CodeFile& file, int64_t offset, int64_t size) {
  std::array<uint8_t, 4096> block;
  block.fill(kPoison);
  for (int64_t at = 0; at < size; at += static_cast<int64_t>(block.size())) {
    file.write(offset + at, block);
  }
}

}  // namespace

CodeRange::~CodeRange() { owner_->release(arena_, begin_, size_); }

// Large kernels take whole huge pages.
int64_t published_size(int64_t bytes) {
  return round_up(bytes, bytes >= kHugePage ? kHugePage : sysconf(_SC_PAGESIZE));
}

std::shared_ptr<CodeMemory> CodeMemory::create(CodeMemoryOptions options) {
  return std::shared_ptr<CodeMemory>(new CodeMemory(options));
}

PublishResult CodeMemory::publish(Codes codes) {
  const int64_t size = published_size(total_bytes(codes));
  const bool arena_first = size < kHugePage && !options_.prefer_private;
  PublishResult result =
      arena_first ? publish_in_arena(codes, size) : publish_privately(codes, size);
  if (result.range != nullptr) return result;
  return arena_first ? publish_privately(codes, size) : publish_in_arena(codes, size);
}

PublishResult CodeMemory::publish_privately(Codes codes, int64_t size) {
  MappedCode mapped = map_private_code(codes, size);
  if (mapped.begin == nullptr) return {.range = nullptr, .reason = std::move(mapped.reason)};
  private_bytes_ += size;
  held_bytes_ += size;
  return {.range = std::make_unique<CodeRange>(shared_from_this(), nullptr, mapped.begin, size),
          .reason = {}};
}

// Written outside the lock: nobody else knows the range yet.
PublishResult CodeMemory::publish_in_arena(Codes codes, int64_t size) {
  PublishResult result;
  CodeArena* arena = nullptr;
  result.range = allocate(size, arena, result.reason);
  if (result.range == nullptr) return result;
  int64_t offset = result.range->begin() - arena->file->begin();
  for (const std::span<const uint8_t> code : codes) {
    if (!arena->file->write(offset, code)) {
      result.range = nullptr;
      result.reason = "no executable memory: the system has no memory left for code";
      break;
    }
    offset += static_cast<int64_t>(code.size());
  }
  return result;
}

// The oldest arena with room is taken, so that younger ones run empty.
std::unique_ptr<const CodeRange> CodeMemory::allocate(int64_t size, CodeArena*& arena,
                                                      std::string& reason) {
  if (!forks_are_seen()) {
    reason = "no executable memory: pthread_atfork failed";
    return nullptr;
  }
  const std::lock_guard lock(arenas_lock());
  for (CodeArena& known : arenas_) {
    if (known.opened_at_fork != fork_count()) continue;
    const std::optional<int64_t> offset = known.space.allocate(size);
    if (!offset.has_value()) continue;
    arena = &known;
    return range_in(known, *offset, size);
  }
  std::unique_ptr<CodeFile> file =
      CodeFile::open(std::max(kArenaBytes, round_up(size, kHugePage)), reason);
  if (file == nullptr) return nullptr;
  arena = &arenas_.emplace_back(std::move(file), fork_count());
  return range_in(*arena, arena->space.allocate(size).value(), size);
}

std::unique_ptr<const CodeRange> CodeMemory::range_in(CodeArena& arena, int64_t offset,
                                                      int64_t size) {
  held_bytes_ += size;
  return std::make_unique<CodeRange>(shared_from_this(), &arena, arena.file->begin() + offset,
                                     size);
}

void CodeMemory::release(CodeArena* arena, const uint8_t* begin, int64_t size) {
  if (arena == nullptr) {
    held_bytes_ -= size;
    private_bytes_ -= size;
    unmap_code(begin, size);
    return;
  }
  const std::lock_guard lock(arenas_lock());
  const int64_t offset = begin - arena->file->begin();
  if (arena->opened_at_fork != fork_count()) {
    arena->stale_bytes += size;
  } else {
    held_bytes_ -= size;
    if (options_.freed == FreedCode::poisoned) {
      poison(*arena->file, offset, size);
    } else {
      arena->file->discard(offset, size);
    }
  }
  arena->space.release(offset, size);
  drop_if_empty(arena);
}

// One empty arena is kept for the next kernel, if it has the usual size.
void CodeMemory::drop_if_empty(CodeArena* arena) {
  if (!arena->space.all_free()) return;
  const bool spare_exists =
      std::any_of(arenas_.begin(), arenas_.end(), [&](const CodeArena& other) {
        return &other != arena && other.opened_at_fork == fork_count() && other.space.all_free();
      });
  const bool useful = arena->opened_at_fork == fork_count() && arena->file->size() == kArenaBytes;
  if (useful && !spare_exists) return;
  held_bytes_ -= arena->stale_bytes;
  arenas_.remove_if([&](const CodeArena& other) { return &other == arena; });
}

CodeMemoryStats CodeMemory::stats() const {
  CodeMemoryStats stats;
  stats.held_bytes = held_bytes_;
  stats.mapped_bytes = private_bytes_;
  const std::lock_guard lock(arenas_lock());
  for (const CodeArena& arena : arenas_) {
    ++stats.arenas;
    stats.mapped_bytes += arena.file->size();
    if (arena.opened_at_fork != fork_count()) {
      ++stats.frozen_arenas;
      continue;
    }
    stats.free_bytes += arena.space.free_bytes();
    stats.largest_free_bytes = std::max(stats.largest_free_bytes, arena.space.largest_gap());
  }
  return stats;
}

}  // namespace sparsejit
