// CodeFetch: reads the code of a chunk, as data, before it runs, unless it ran a moment ago.
//
// Unrolled code is executed once in a while and straight ahead. Where it is not in a cache any more
// its lines arrive one by one, for processors hardly fetch code ahead; reads of data they do
// foresee, so one pass of reads brings the chunk at the rate of memory. 768 -> 3072, 90%, Zen 5,
// forward: batch 32 2.5 -> 0.31 ms, batch 902 in tiles 5.5 -> 4.0 ms (bench/README.md). Prefetch
// instructions, in the code or before it, brought half of that. Reading what is in a near cache
// costs up to a sixth of a short kernel's time, hence the clock.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace sparsejit {

class CodeFetch {
 public:
  // Code stays in a cache of `cache_bytes` until that much may have been read since.
  CodeFetch(size_t chunks, int64_t cache_bytes);

  void before_run(size_t chunk, std::span<const uint8_t> code) const;

 private:
  const uint64_t kept_cycles_;
  mutable std::vector<std::atomic<uint64_t>> last_run_;  // of each chunk, by the time stamp counter
};

}  // namespace sparsejit
