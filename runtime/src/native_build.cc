// See native_build.h.
#include "native_build.h"

#include <exception>

namespace sparsejit {

void Regeneration::add(const KernelLookup& lookup) {
  if (!lookup.generated) {
    ++reused;
    return;
  }
  ++generated;
  chunks_emitted += lookup.kernel->emitted_chunks();
  chunks_kept += std::ssize(lookup.kernel->chunks()) - lookup.kernel->emitted_chunks();
  code_bytes += lookup.kernel->emitted_bytes();
  seconds += lookup.kernel->compile_seconds();
}

void Regeneration::add(const Regeneration& other) {
  generated += other.generated;
  reused += other.reused;
  chunks_emitted += other.chunks_emitted;
  chunks_kept += other.chunks_kept;
  code_bytes += other.code_bytes;
  seconds += other.seconds;
}

NativeBuild build_native(KernelCache& cache, const LoweredLayerPtr& lowered,
                         const std::vector<StepRequest>& requests, ThreadPool* pool) {
  NativeBuild build;
  build.lowered = lowered;
  std::vector<Step> steps;
  for (const StepRequest& wanted : requests) {
    const KernelLookup lookup = cache.get(lowered, wanted.step.side, wanted.request,
                                          {.pool = pool, .previous = wanted.previous});
    if (lookup.kernel == nullptr) {
      build.codes.clear();
      build.problem = lookup.reason;
      return build;
    }
    steps.push_back(wanted.step);
    steps.back().kernel = lookup.kernel;
    build.codes.push_back(lookup.kernel);
    build.work.add(lookup);
  }
  build.steps = std::make_shared<const std::vector<Step>>(std::move(steps));
  return build;
}

bool is_cached(KernelCache& cache, const LoweredLayerPtr& lowered,
               const std::vector<StepRequest>& requests) {
  for (const StepRequest& wanted : requests) {
    if (!cache.contains(*lowered, wanted.step.side, wanted.request)) return false;
  }
  return true;
}

std::shared_ptr<PendingBuild> PendingBuild::start(BackgroundCompiler& compiler, KernelCache& cache,
                                                  LoweredLayerPtr lowered,
                                                  std::vector<StepRequest> requests) {
  auto pending = std::make_shared<PendingBuild>(cache, std::move(lowered), std::move(requests));
  compiler.submit(pending);
  return pending;
}

void PendingBuild::run() noexcept {
  try {
    build_ = build_native(cache_, lowered_, requests_, nullptr);
  } catch (const std::exception& error) {
    build_ = {};
    build_.problem = std::string("compiling failed: ") + error.what();
  }
  done_.store(true, std::memory_order_release);
}

}  // namespace sparsejit
