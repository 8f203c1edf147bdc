// Twelve independent chains of vfmadd, enough to hide the latency of two units; see fma_peak.h.
#include "bench/fma_peak.h"

#include <time.h>

namespace sparsejit::frontend {
namespace {

constexpr int kChains = 12;
constexpr long kTurns = 400000;
constexpr int kRuns = 8;

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns something that depends on every product, so that none can be left out; what it starts
// from the compiler does not know, and no two chains are equal.
template <typename Vector>
inline __attribute__((always_inline)) float run_chains() {
  volatile float known_at_run_time = 0.999F;
  const Vector factor = Vector{} + known_at_run_time;
  const Vector addend = 1 - factor;
  Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = factor + static_cast<float>(i);
  for (long turn = 0; turn < kTurns; ++turn) {
    for (Vector& chain : chains) chain = chain * factor + addend;
  }
  Vector sum{};
  for (const Vector& chain : chains) sum += chain;
  return sum[0];
}

using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));

float run_avx2() { return run_chains<Vector8>(); }
__attribute__((target("avx512f"))) float run_avx512() { return run_chains<Vector16>(); }

}  // namespace

double measure_fma_peak_gflops(const VectorIsa& isa) {
  volatile float sink = 0;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = now_seconds();
    sink = isa.lanes == 16 ? run_avx512() : run_avx2();
    const double seconds = now_seconds() - begin;
    if (run == 0 || seconds < best) best = seconds;
  }
  static_cast<void>(sink);
  return 2.0 * kChains * isa.lanes * static_cast<double>(kTurns) / best * 1e-9;
}

}  // namespace sparsejit::frontend
