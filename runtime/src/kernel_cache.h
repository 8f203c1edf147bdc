// KernelCache: generated kernels by content of the mask, geometry and request.
//
// The hash only finds the bucket; masks and geometry are compared in full. One compile per key
// however many threads ask: the first compiles, the others wait for it. Bounded in bytes: the least
// recently used kernels that nobody holds go first; a kernel in use is never freed, and counts as
// held until it is. What cannot be compiled is remembered with its reason, the latest few hundred
// times. Thread-safe, and usable in a forked child whatever other threads were doing here.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "kernel_compiler.h"
#include "sparsejit/runtime.h"

namespace sparsejit {

struct KernelLookup {
  NativeKernelPtr kernel;  // null: not to be had
  std::string reason;
  bool generated = false;  // by this call
};

struct CacheOptions {
  MachineModel machine;
  int64_t budget_bytes = 0;
  // Kernels found are emitted again and compared; one that differs is not handed out.
  bool check_hits = false;
  ReportLine log{};  // receives what SPARSEJIT_PROFILE gives to say
  // For tests: replaces the content hash; is called with each plan before it is emitted.
  std::function<uint64_t(const Mask&)> hasher{};
  std::function<void(const Plan&)> before_emit{};
};

class KernelCache {
 public:
  explicit KernelCache(CacheOptions options);

  // `side`: the table the kernel walks; forward by destination, backward by source.
  KernelLookup get(const LoweredLayerPtr& lowered, Pass side, const KernelRequest& request,
                   const CompileHow& how = {});
  // The same mask, with the storage of the one that kernels were made for, if there is any: two
  // such masks need not be compared entry by entry again.
  Mask known(const Mask& mask) const;
  // Whether `get` would find a kernel, ready to run.
  bool contains(const LoweredLayer& lowered, Pass side, const KernelRequest& request);
  RuntimeStats stats() const;
  CodeMemory& memory() const { return compiler_.memory(); }

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
    uint64_t generation;  // of the process that compiles it
    std::shared_future<Result> result;
    bool ready = false;
    bool failed = false;
  };
  using Entries = std::list<Entry>;  // most recently used first

  uint64_t hash_of(const LayerSpec& spec, Pass side, const KernelRequest& request) const;
  Entries::iterator find(const LayerSpec& spec, Pass side, const KernelRequest& request,
                         uint64_t hash);
  Entries::iterator add(Entry entry);
  KernelLookup checked(const LoweredLayer& lowered, Pass side, const Result& result);
  Result compile(const LoweredLayer& lowered, Pass side, const KernelRequest& request,
                 const CompileHow& how);
  Result generate(const LoweredLayer& lowered, Pass side, Plan plan, const CompileHow& how);
  void finish(Entries::iterator entry, const Result& result, double seconds);
  void forget_old_failures();
  Result over_budget(int64_t bytes) const;
  // Evicts until `bytes` more fit and sets them aside; false if they cannot fit.
  bool reserve(int64_t bytes);
  void unreserve(int64_t bytes);
  void erase(Entries::iterator entry);

  const CacheOptions options_;
  const KernelCompiler compiler_;
  // The rest is guarded by ForkLock::caches.
  int64_t reserved_bytes_ = 0;  // about to be published
  int64_t failed_entries_ = 0;
  Entries entries_;
  using Index = std::unordered_multimap<uint64_t, Entries::iterator>;
  static void erase_from(Index& index, uint64_t hash, Entries::iterator entry);

  Index index_;          // by hash_of
  Index index_by_mask_;  // by the hash of the mask
  RuntimeStats stats_;
};

}  // namespace sparsejit
