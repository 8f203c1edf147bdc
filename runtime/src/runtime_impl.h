// What a Runtime owns.
#pragma once

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
        cache(machine, options.code_budget_bytes, {}, options.log) {}

  void warn(const std::string& message) const {
    if (options.log) options.log(message);
  }

  const RuntimeOptions options;
  const MachineModel machine;
  ThreadPool pool;
  ScratchPool scratch;
  KernelCache cache;
};

}  // namespace sparsejit
