// Runtime: what layers share: threads, code memory, the kernel cache.
//
// Most programs use the process-wide default, Runtime::shared(). A Runtime outlives its layers by
// itself: layers hold a reference. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sparsejit/machine.h"

namespace sparsejit {

// Runs task(0) ... task(count - 1), each once, in any order and on any threads, and returns when
// all are done. Tasks do not throw and do not wait for each other.
using Executor = std::function<void(int count, const std::function<void(int)>& task)>;

// A dense product, C = op(A) op(B), of row-major matrices: op(A) has m x k entries, op(B) k x n, C
// m x n. A is stored transposed, k x m, where transpose_a says so; B likewise. lda, ldb and ldc are
// the distances in floats between the rows as stored. C is overwritten and may hold anything before
// (beta 0). No size is 0 or beyond 31 bits.
struct Sgemm {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  int threads = 1;  // to use, the calling one included
};

// Any library's; called from several threads at once if layers are.
//
//     options.sgemm = [](const Sgemm& g) {
//       const auto op = [](bool t) { return t ? CblasTrans : CblasNoTrans; };
//       cblas_sgemm(CblasRowMajor, op(g.transpose_a), op(g.transpose_b), g.m, g.n, g.k, 1.0F,
//                   g.a, g.lda, g.b, g.ldb, 0.0F, g.c, g.ldc);
//     };
using SgemmFunction = std::function<void(const Sgemm&)>;

struct RuntimeOptions {
  // Threads that execute a layer, the caller's included; 0: all physical cores. A layer that
  // compiles in the background has one more thread, which only compiles.
  int threads = 0;
  // The caller's threads instead of the runtime's own, to live inside an OpenMP or TBB program:
  // work is cut into `threads` tasks and handed over. Empty: a pool of the runtime.
  Executor executor{};
  int64_t code_budget_bytes = int64_t{256} << 20;  // code kept in memory; 0: generate none
  // Emits each kernel that is found in the cache once more and compares; one that differs is not
  // run. For tests and for hunting faults: a hit then costs as much as a compile.
  bool check_cache = false;
  // Receives one line for each thing worth a warning; the library itself never prints.
  std::function<void(const std::string&)> log{};
  // Where there is one, Engine::dense is a further candidate of linear layers whose engine is
  // automatic and which are not deterministic; see Engine in layer.h. Empty: there is none.
  SgemmFunction sgemm{};
  // What was measured to be fastest is remembered, so that further layers, and new masks, of about
  // the same kind start with it at once; so many choices at most, the latest used. 0: none.
  int64_t remembered_picks = 4096;
  // A file that carries them from process to process. Read when the Runtime is made; written when
  // it and its layers are gone, and by save_picks(). Several processes may share one. A file that
  // cannot be used gives one warning and is ignored; one that this library did not write is never
  // replaced. Its format: runtime/README.md. Empty: none.
  std::string picks_file{};
  // What plans believe of the machine; empty: the real one. For tests and experiments.
  std::shared_ptr<const MachineModel> machine{};
};

struct RuntimeStats {
  int64_t kernels = 0;  // compiled kernels in the cache
  // Bytes of memory that generated code takes: whole pages, of large kernels whole huge pages. What
  // the budget bounds. Includes freed kernels in frozen arenas.
  int64_t code_bytes = 0;
  // Small kernels share arenas. After a fork those that parent and child have in common are frozen:
  // both still run what is there but write nothing new, and freed kernels keep their memory until
  // the arena's last kernel goes.
  int64_t arenas = 0;
  int64_t frozen_arenas = 0;       // of these
  int64_t mapped_bytes = 0;        // bytes of address space: arenas, and mappings of large kernels
  int64_t free_bytes = 0;          // bytes in arenas that new kernels can take
  int64_t largest_free_bytes = 0;  // largest kernel that fits without another mapping
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;      // each one was a compile
  int64_t compile_failures = 0;  // remembered, the latest of them, and not retried
  int64_t checks = 0;            // RuntimeOptions::check_cache
  int64_t check_failures = 0;
  int64_t evictions = 0;
  double compile_seconds = 0;
};

class Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {});
  static Runtime& shared();

  RuntimeStats stats() const;
  // Writes RuntimeOptions::picks_file, together with what others wrote there; true if that worked.
  bool save_picks();
  int threads() const;
  const MachineModel& machine() const;
  // Empty when executable memory can be had, else why not. Tries it once.
  std::string executable_memory_problem() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace sparsejit
