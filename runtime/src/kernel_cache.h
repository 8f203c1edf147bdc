// KernelCache: generated kernels by content of the mask, geometry and request.
//
// The hash only finds the bucket; masks and geometry are compared in full. One compile per key
// however many threads ask: the first compiles, the others wait for it. Bounded in bytes: the least
// recently used kernels that nobody holds go first; a kernel in use is never freed, and counts as
// held until it is. What cannot be compiled is remembered with its reason. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "panel_kernel.h"
#include "sparsejit/runtime.h"

namespace sparsejit {

using NativeKernelPtr = std::shared_ptr<const NativeKernel>;

struct KernelLookup {
  NativeKernelPtr kernel;  // null: not to be had
  std::string reason;
  bool generated = false;  // by this call
};

class KernelCache {
 public:
  using MaskHasher = std::function<uint64_t(const Mask&)>;

  // `hasher` replaces the content hash in tests. `log` receives what SPARSEJIT_PROFILE gives to
  // say.
  KernelCache(MachineModel machine, int64_t budget_bytes, MaskHasher hasher = {},
              ReportLine log = {});

  // `side`: the table the kernel walks; forward by destination, backward by source.
  KernelLookup get(const LoweredLayerPtr& lowered, Pass side, const KernelRequest& request);
  RuntimeStats stats() const;
  CodeMemory& memory() { return *memory_; }

 private:
  struct Result {
    NativeKernelPtr kernel;
    std::string reason;
    bool lasting = true;  // false: worth another try later
  };
  struct Entry {
    LayerSpec spec;
    Pass side;
    KernelRequest request;
    uint64_t hash;
    std::shared_future<Result> result;
    bool ready = false;
  };
  using Entries = std::list<Entry>;  // most recently used first

  Entries::iterator find(const LayerSpec& spec, Pass side, const KernelRequest& request,
                         uint64_t hash);
  Result compile(const LoweredLayer& lowered, Pass side, const KernelRequest& request);
  Result generate(const LoweredLayer& lowered, Pass side, Plan plan);
  std::unique_ptr<const CodeListing> list_code(const Mask& mask, Pass side, const Plan& plan,
                                               const CodeRange& range,
                                               const KernelCode& code) const;
  void finish(Entries::iterator entry, const Result& result, double seconds);
  Result over_budget(int64_t bytes) const;
  // Evicts until `bytes` more fit and sets them aside; false if they cannot fit.
  bool reserve(int64_t bytes);
  void unreserve(int64_t bytes);
  void erase(Entries::iterator entry);

  const MachineModel machine_;
  const int64_t budget_bytes_;
  const MaskHasher hasher_;
  const ReportLine log_;
  const Profilers profilers_;
  const std::shared_ptr<CodeMemory> memory_;
  mutable std::mutex mutex_;
  int64_t reserved_bytes_ = 0;  // about to be published
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> index_;
  RuntimeStats stats_;
};

}  // namespace sparsejit
