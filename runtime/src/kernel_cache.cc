#include "kernel_cache.h"

#include <chrono>

#include "fork.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

uint64_t hash_request(uint64_t hash, const ImageSize& image, Pass side,
                      const KernelRequest& request) {
  hash = mix(hash, static_cast<uint64_t>(request.kind) * 2 + static_cast<uint64_t>(side));
  for (const int64_t field : {image.height, image.width, request.length, request.pitches.gathered,
                              request.pitches.own, request.pitches.paired}) {
    hash = mix(hash, static_cast<uint64_t>(field));
  }
  return hash;
}

std::mutex& caches_lock() { return fork_lock(ForkLock::caches); }

}  // namespace

KernelCache::KernelCache(CacheOptions options)
    : options_(std::move(options)),
      compiler_(options_.machine, profilers_from_environment(options_.log), options_.log,
                options_.before_emit) {}

KernelLookup KernelCache::get(const LoweredLayerPtr& lowered, Pass side,
                              const KernelRequest& wanted, const CompileHow& how) {
  const LayerSpec& spec = lowered->spec;
  const KernelRequest request = canonical_request(wanted, options_.machine);
  const uint64_t hash = hash_of(spec, side, request);
  std::promise<Result> promise;
  Entries::iterator entry;
  {
    std::unique_lock lock(caches_lock());
    entry = find(spec, side, request, hash);
    if (entry != entries_.end()) {
      ++stats_.cache_hits;
      entries_.splice(entries_.begin(), entries_, entry);
      const std::shared_future<Result> result = entry->result;
      lock.unlock();
      return checked(*lowered, side, result.get());
    }
    entry = add({spec, side, request, hash, fork_generation(), promise.get_future().share()});
    ++stats_.cache_misses;
  }
  const auto start = std::chrono::steady_clock::now();
  const Result result = compile(*lowered, side, request, how);
  promise.set_value(result);
  finish(entry, result, seconds_since(start));
  return {.kernel = result.kernel, .reason = result.reason, .generated = result.kernel != nullptr};
}

bool KernelCache::contains(const LoweredLayer& lowered, Pass side, const KernelRequest& wanted) {
  const KernelRequest request = canonical_request(wanted, options_.machine);
  const uint64_t hash = hash_of(lowered.spec, side, request);
  const std::lock_guard lock(caches_lock());
  const auto entry = find(lowered.spec, side, request, hash);
  return entry != entries_.end() && entry->ready && !entry->failed;
}

uint64_t KernelCache::hash_of(const LayerSpec& spec, Pass side,
                              const KernelRequest& request) const {
  const uint64_t mask_hash = options_.hasher ? options_.hasher(spec.mask) : spec.mask.hash().low;
  return hash_request(mask_hash, spec.image, side, request);
}

// An entry that a thread of the parent process was compiling will never be ready here.
KernelCache::Entries::iterator KernelCache::find(const LayerSpec& spec, Pass side,
                                                 const KernelRequest& request, uint64_t hash) {
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = *it->second;
    if (entry.request != request || entry.side != side || !(entry.spec == spec)) continue;
    if (entry.ready || entry.generation == fork_generation()) return it->second;
    erase(it->second);
    break;
  }
  return entries_.end();
}

KernelCache::Entries::iterator KernelCache::add(Entry entry) {
  entries_.push_front(std::move(entry));
  const auto added = entries_.begin();
  try {
    index_.emplace(added->hash, added);
    index_by_mask_.emplace(added->spec.mask.hash().low, added);
  } catch (...) {
    erase(added);
    throw;
  }
  return added;
}

KernelLookup KernelCache::checked(const LoweredLayer& lowered, Pass side, const Result& result) {
  if (!options_.check_hits || result.kernel == nullptr) {
    return {.kernel = result.kernel, .reason = result.reason, .generated = false};
  }
  const std::string problem = compiler_.check(lowered, side, *result.kernel);
  const std::lock_guard lock(caches_lock());
  ++stats_.checks;
  if (problem.empty()) return {.kernel = result.kernel, .reason = {}, .generated = false};
  ++stats_.check_failures;
  return {.kernel = nullptr, .reason = "the check of the cache failed: " + problem};
}

KernelCache::Result KernelCache::compile(const LoweredLayer& lowered, Pass side,
                                         const KernelRequest& request, const CompileHow& how) {
  try {
    Plan plan = compiler_.plan(lowered, side, request, how);
    if (plan.code_bytes_estimate > options_.budget_bytes) {
      return over_budget(plan.code_bytes_estimate);
    }
    return generate(lowered, side, std::move(plan), how);
  } catch (const std::exception& error) {
    return {.kernel = nullptr, .reason = fmt::format("compiling failed: {}", error.what())};
  } catch (...) {
    return {.kernel = nullptr, .reason = "compiling failed"};
  }
}

KernelCache::Result KernelCache::generate(const LoweredLayer& lowered, Pass side, Plan plan,
                                          const CompileHow& how) {
  EmitOutcome emitted = compiler_.emit(lowered, side, std::move(plan), how);
  if (!emitted.kernel.has_value()) return {.kernel = nullptr, .reason = emitted.reason};
  const int64_t size = published_size(emitted.kernel->bytes());
  if (!reserve(size)) return over_budget(size);
  CompileOutcome compiled = compiler_.publish(lowered.spec.mask, side, std::move(*emitted.kernel));
  unreserve(size);
  return {.kernel = std::move(compiled.kernel), .reason = std::move(compiled.reason)};
}

KernelCache::Result KernelCache::over_budget(int64_t bytes) const {
  return {.kernel = nullptr,
          .reason = fmt::format("{} bytes of code do not fit the code budget of {} bytes beside "
                                "the kernels in use",
                                bytes, options_.budget_bytes),
          .lasting = false};
}

void KernelCache::finish(Entries::iterator entry, const Result& result, double seconds) {
  const std::lock_guard lock(caches_lock());
  entry->ready = true;
  stats_.compile_seconds += seconds;
  if (result.kernel != nullptr) {
    ++stats_.kernels;
    return;
  }
  ++stats_.compile_failures;
  if (!result.lasting) {
    erase(entry);
    return;
  }
  entry->failed = true;
  ++failed_entries_;
  forget_old_failures();
}

// Each one keeps a mask alive.
void KernelCache::forget_old_failures() {
  constexpr int64_t kMaxFailures = 256;
  for (auto it = entries_.end(); failed_entries_ > kMaxFailures;) {
    --it;
    if (!it->failed) continue;
    const auto oldest = it++;
    erase(oldest);
  }
}

// Least recently used kernels that only the cache holds make room.
bool KernelCache::reserve(int64_t bytes) {
  const std::lock_guard lock(caches_lock());
  for (auto it = entries_.end();
       memory().held_bytes() + reserved_bytes_ + bytes > options_.budget_bytes;) {
    if (it == entries_.begin()) return false;
    --it;
    if (!it->ready || it->failed || it->result.get().kernel.use_count() != 1) continue;
    --stats_.kernels;
    ++stats_.evictions;
    const auto victim = it++;
    erase(victim);
  }
  reserved_bytes_ += bytes;
  return true;
}

void KernelCache::unreserve(int64_t bytes) {
  const std::lock_guard lock(caches_lock());
  reserved_bytes_ -= bytes;
}

void KernelCache::erase(Entries::iterator entry) {
  failed_entries_ -= entry->failed ? 1 : 0;
  erase_from(index_, entry->hash, entry);
  erase_from(index_by_mask_, entry->spec.mask.hash().low, entry);
  entries_.erase(entry);
}

void KernelCache::erase_from(Index& index, uint64_t hash, Entries::iterator entry) {
  const auto [begin, end] = index.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second != entry) continue;
    index.erase(it);
    return;
  }
}

Mask KernelCache::known(const Mask& mask) const {
  const std::lock_guard lock(caches_lock());
  const auto [begin, end] = index_by_mask_.equal_range(mask.hash().low);
  for (auto it = begin; it != end; ++it) {
    if (it->second->spec.mask == mask) return it->second->spec.mask;
  }
  return mask;
}

RuntimeStats KernelCache::stats() const {
  const CodeMemoryStats code = memory().stats();
  const std::lock_guard lock(caches_lock());
  RuntimeStats stats = stats_;
  stats.code_bytes = code.held_bytes;
  stats.arenas = code.arenas;
  stats.frozen_arenas = code.frozen_arenas;
  stats.mapped_bytes = code.mapped_bytes;
  stats.free_bytes = code.free_bytes;
  stats.largest_free_bytes = code.largest_free_bytes;
  return stats;
}

}  // namespace sparsejit
