// See code_fetch.h.
#include "code_fetch.h"

#include <x86intrin.h>

namespace sparsejit {
namespace {

// What a core can read from memory, at the rate of the time stamp counter, at most.
constexpr int64_t kBytesPerCycle = 16;
constexpr size_t kCacheLine = 64;

void read_lines(std::span<const uint8_t> code) {
  for (size_t at = 0; at < code.size(); at += kCacheLine) {
    static_cast<void>(*static_cast<const volatile uint8_t*>(&code[at]));
  }
}

}  // namespace

CodeFetch::CodeFetch(size_t chunks, int64_t cache_bytes)
    : kept_cycles_(static_cast<uint64_t>(cache_bytes / kBytesPerCycle)), last_run_(chunks) {}

void CodeFetch::before_run(size_t chunk, std::span<const uint8_t> code) const {
  const uint64_t now = __rdtsc();
  const uint64_t last = last_run_[chunk].load(std::memory_order_relaxed);
  last_run_[chunk].store(now, std::memory_order_relaxed);
  if (last == 0 || now - last > kept_cycles_) read_lines(code);
}

}  // namespace sparsejit
