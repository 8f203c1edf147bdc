// KernelCompiler: from a lowered layer and a request to a kernel that can run, in two steps, so
// that the cache can make room in between.
//
//     plan ──▶ emit ──▶ EmittedKernel ──▶ publish ──▶ NativeKernel
//
// After a change of the mask, chunks of the kernel before it that would get the same bytes are not
// emitted again but shared. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "native_kernel.h"
#include "thread_pool.h"

namespace sparsejit {

// The kernel that served the same request before the mask changed; null: none.
struct PreviousKernel {
  NativeKernelPtr kernel;
  LoweredLayerPtr lowered;
};

struct CompileHow {
  ThreadPool* pool = nullptr;  // null: on the calling thread alone
  PreviousKernel previous{};
};

struct EmittedKernel {
  Plan plan;
  std::vector<int32_t> value_order;  // where the plan has packed_values
  // Consecutive chunks each, emitted by one thread; chunks that are shared are empty in all.
  std::vector<KernelCode> codes;
  std::vector<bool> emitted;  // by chunk
  NativeKernelPtr previous;   // where the others are; null: all are emitted
  double seconds = 0;

  int64_t bytes() const;  // of code, between and before chunks included
};

struct EmitOutcome {
  std::optional<EmittedKernel> kernel;
  std::string reason;
};

struct CompileOutcome {
  NativeKernelPtr kernel;  // null: not to be had
  std::string reason;
};

class KernelCompiler {
 public:
  // `before_emit` is called with each plan; tests make it throw.
  KernelCompiler(MachineModel machine, Profilers profilers, ReportLine log,
                 std::function<void(const Plan&)> before_emit);

  Plan plan(const LoweredLayer& lowered, Pass side, const KernelRequest& request,
            const CompileHow& how) const;
  EmitOutcome emit(const LoweredLayer& lowered, Pass side, Plan plan, const CompileHow& how) const;
  CompileOutcome publish(const Mask& mask, Pass side, EmittedKernel emitted) const;
  // Emits the kernel once more and compares. Empty if the bytes are the same, else what differs.
  std::string check(const LoweredLayer& lowered, Pass side, const NativeKernel& kernel) const;

  CodeMemory& memory() const { return *memory_; }

 private:
  std::unique_ptr<const CodeListing> list_code(const Mask& mask, Pass side, const Plan& plan,
                                               const std::vector<ChunkCode>& chunks) const;

  const MachineModel machine_;
  const Profilers profilers_;
  const ReportLine log_;
  const std::function<void(const Plan&)> before_emit_;
  const std::shared_ptr<CodeMemory> memory_;
};

}  // namespace sparsejit
