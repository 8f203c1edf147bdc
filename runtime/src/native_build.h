// NativeBuild: the generated code of all steps of a pass, made at once or in the background.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "background_compiler.h"
#include "kernel_cache.h"
#include "pass_steps.h"

namespace sparsejit {

struct StepRequest {
  Step step;
  KernelRequest request;
  PreviousKernel previous;
};

// What making kernels ready for a new mask did.
struct Regeneration {
  int64_t generated = 0;
  int64_t reused = 0;
  int64_t chunks_emitted = 0;  // of the kernels generated
  int64_t chunks_kept = 0;
  int64_t code_bytes = 0;  // emitted
  double seconds = 0;

  void add(const KernelLookup& lookup);
  void add(const Regeneration& other);
};

struct NativeBuild {
  LoweredLayerPtr lowered;
  Steps steps;                         // null: `problem` says why
  std::vector<NativeKernelPtr> codes;  // of the steps
  std::string problem;
  Regeneration work;
};

// Takes the kernels from the cache or compiles them, on `pool` if there is one.
NativeBuild build_native(KernelCache& cache, const LoweredLayerPtr& lowered,
                         const std::vector<StepRequest>& requests, ThreadPool* pool);

// True where every kernel is in the cache already.
bool is_cached(KernelCache& cache, const LoweredLayerPtr& lowered,
               const std::vector<StepRequest>& requests);

// A build that is under way, or queued. Given up when nobody holds it any more.
class PendingBuild : public BackgroundJob {
 public:
  // Throws std::system_error where no thread is to be had. The cache outlives the job: a runtime
  // stops its compiler first.
  static std::shared_ptr<PendingBuild> start(BackgroundCompiler& compiler, KernelCache& cache,
                                             LoweredLayerPtr lowered,
                                             std::vector<StepRequest> requests);

  PendingBuild(KernelCache& cache, LoweredLayerPtr lowered, std::vector<StepRequest> requests)
      : cache_(cache), lowered_(std::move(lowered)), requests_(std::move(requests)) {}

  void run() noexcept override;
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Once done.
  const NativeBuild& build() const { return build_; }

 private:
  KernelCache& cache_;
  const LoweredLayerPtr lowered_;
  const std::vector<StepRequest> requests_;
  NativeBuild build_;
  std::atomic<bool> done_{false};
};

}  // namespace sparsejit
