// What a Runtime owns.
#pragma once

#include <atomic>

#include "background_compiler.h"
#include "kernel_cache.h"
#include "pick_memory.h"
#include "scratch.h"
#include "sparsejit/runtime.h"
#include "thread_pool.h"

namespace sparsejit {

struct Runtime::Impl {
  Impl(RuntimeOptions o, MachineModel m)
      : options(std::move(o)),
        machine(std::move(m)),
        pool(options.threads == 0 ? machine.cores : options.threads, options.executor),
        cache({.machine = machine,
               .budget_bytes = options.code_budget_bytes,
               .check_hits = options.check_cache,
               .log = options.log}),
        picks(options.remembered_picks) {
    load_picks();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  void warn(const std::string& message) const {
    if (options.log) options.log(message);
  }

  void load_picks();
  // True if the file now holds what is remembered.
  bool save_picks();

  const RuntimeOptions options;
  const MachineModel machine;
  ThreadPool pool;
  ScratchPool scratch;
  KernelCache cache;
  PickMemory picks;
  BackgroundCompiler compiler;  // its jobs use the cache

 private:
  void warn_of_picks_file(const std::string& problem);

  std::atomic<bool> warned_of_picks_file_{false};
  std::atomic<int64_t> saved_changes_{0};
};

}  // namespace sparsejit
