// What a Runtime owns.
#pragma once

#include "background_compiler.h"
#include "kernel_cache.h"
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
               .log = options.log}) {}

  void warn(const std::string& message) const {
    if (options.log) options.log(message);
  }

  const RuntimeOptions options;
  const MachineModel machine;
  ThreadPool pool;
  ScratchPool scratch;
  KernelCache cache;
  BackgroundCompiler compiler;  // its jobs use the cache
};

}  // namespace sparsejit
