#include "kernel_cache.h"

#include <chrono>

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

}  // namespace

KernelCache::KernelCache(MachineModel machine, int64_t budget_bytes, MaskHasher hasher,
                         ReportLine log)
    : machine_(std::move(machine)),
      budget_bytes_(budget_bytes),
      hasher_(std::move(hasher)),
      log_(std::move(log)),
      profilers_(profilers_from_environment(log_)),
      memory_(CodeMemory::create({.prefer_private = profilers_.perf_map || profilers_.gdb})) {}

KernelLookup KernelCache::get(const LoweredLayerPtr& lowered, Pass side,
                              const KernelRequest& wanted) {
  const KernelRequest request = canonical_request(wanted, machine_);
  const uint64_t mask_hash = hasher_ ? hasher_(lowered->spec.mask) : lowered->spec.mask.hash().low;
  const uint64_t hash = hash_request(mask_hash, lowered->spec.image, side, request);
  std::promise<Result> promise;
  Entries::iterator entry;
  {
    std::unique_lock lock(mutex_);
    entry = find(lowered->spec, side, request, hash);
    if (entry != entries_.end()) {
      ++stats_.cache_hits;
      entries_.splice(entries_.begin(), entries_, entry);
      const std::shared_future<Result> result = entry->result;
      lock.unlock();
      return {.kernel = result.get().kernel, .reason = result.get().reason, .generated = false};
    }
    ++stats_.cache_misses;
    entries_.push_front({lowered->spec, side, request, hash, promise.get_future().share()});
    entry = entries_.begin();
    index_.emplace(hash, entry);
  }
  const auto start = std::chrono::steady_clock::now();
  const Result result = compile(*lowered, side, request);
  promise.set_value(result);
  finish(entry, result, seconds_since(start));
  return {.kernel = result.kernel, .reason = result.reason, .generated = result.kernel != nullptr};
}

KernelCache::Entries::iterator KernelCache::find(const LayerSpec& spec, Pass side,
                                                 const KernelRequest& request, uint64_t hash) {
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = *it->second;
    if (entry.request == request && entry.side == side && entry.spec == spec) return it->second;
  }
  return entries_.end();
}

KernelCache::Result KernelCache::compile(const LoweredLayer& lowered, Pass side,
                                         const KernelRequest& request) {
  try {
    Plan plan = plan_kernel(lowered.table(side), request, machine_);
    if (plan.code_bytes_estimate > budget_bytes_) return over_budget(plan.code_bytes_estimate);
    return generate(lowered, side, std::move(plan));
  } catch (const std::exception& error) {
    return {.kernel = nullptr, .reason = fmt::format("compiling failed: {}", error.what())};
  }
}

KernelCache::Result KernelCache::generate(const LoweredLayer& lowered, Pass side, Plan plan) {
  const auto start = std::chrono::steady_clock::now();
  EmitResult emitted = emit_kernel(lowered.table(side), plan);
  if (!emitted.code.has_value()) return {.kernel = nullptr, .reason = emitted.reason};
  const int64_t size = published_size(static_cast<int64_t>(emitted.code->bytes.size()));
  if (!reserve(size)) return over_budget(size);
  PublishResult published = memory_->publish(emitted.code->bytes);
  unreserve(size);
  if (published.range == nullptr) return {.kernel = nullptr, .reason = published.reason};
  auto listing = list_code(lowered.spec.mask, side, plan, *published.range, *emitted.code);
  return {.kernel = std::make_shared<NativeKernel>(
              std::move(plan), std::move(emitted.code->chunk_begin), std::move(published.range),
              std::move(listing), seconds_since(start)),
          .reason = {}};
}

std::unique_ptr<const CodeListing> KernelCache::list_code(const Mask& mask, Pass side,
                                                          const Plan& plan, const CodeRange& range,
                                                          const KernelCode& code) const {
  if (!profilers_.any()) return nullptr;
  return std::make_unique<CodeListing>(
      profilers_, chunk_symbols(mask, side, plan.kind, range.begin(), code.chunk_begin), log_);
}

KernelCache::Result KernelCache::over_budget(int64_t bytes) const {
  return {.kernel = nullptr,
          .reason = fmt::format("{} bytes of code do not fit the code budget of {} bytes beside "
                                "the kernels in use",
                                bytes, budget_bytes_),
          .lasting = false};
}

void KernelCache::finish(Entries::iterator entry, const Result& result, double seconds) {
  const std::lock_guard lock(mutex_);
  entry->ready = true;
  stats_.compile_seconds += seconds;
  if (result.kernel != nullptr) {
    ++stats_.kernels;
    return;
  }
  ++stats_.compile_failures;
  if (!result.lasting) erase(entry);
}

// Least recently used kernels that only the cache holds make room.
bool KernelCache::reserve(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto it = entries_.end(); memory_->held_bytes() + reserved_bytes_ + bytes > budget_bytes_;) {
    if (it == entries_.begin()) return false;
    --it;
    if (!it->ready || it->result.get().kernel.use_count() != 1) continue;
    --stats_.kernels;
    ++stats_.evictions;
    const auto victim = it++;
    erase(victim);
  }
  reserved_bytes_ += bytes;
  return true;
}

void KernelCache::unreserve(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  reserved_bytes_ -= bytes;
}

void KernelCache::erase(Entries::iterator entry) {
  const auto [begin, end] = index_.equal_range(entry->hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second == entry) {
      index_.erase(it);
      break;
    }
  }
  entries_.erase(entry);
}

RuntimeStats KernelCache::stats() const {
  const CodeMemoryStats memory = memory_->stats();
  const std::lock_guard lock(mutex_);
  RuntimeStats stats = stats_;
  stats.code_bytes = memory.held_bytes;
  stats.arenas = memory.arenas;
  stats.frozen_arenas = memory.frozen_arenas;
  stats.mapped_bytes = memory.mapped_bytes;
  stats.free_bytes = memory.free_bytes;
  stats.largest_free_bytes = memory.largest_free_bytes;
  return stats;
}

}  // namespace sparsejit
