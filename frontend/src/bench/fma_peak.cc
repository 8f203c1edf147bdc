// Twelve independent chains of vfmadd, enough to hide the latency of two units; see fma_peak.h.
#include "bench/fma_peak.h"

#include <immintrin.h>
#include <time.h>

namespace sparsejit::frontend {
namespace {

constexpr int kChains = 12;
constexpr int kLanes = 8;
constexpr long kTurns = 400000;
constexpr int kRuns = 8;

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns something that depends on every product, so that none can be left out.
float run_chains() {
  __m256 chains[kChains];
  for (__m256& chain : chains) chain = _mm256_set1_ps(1.0F);
  __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 addend = _mm256_set1_ps(0.001F);
  for (long turn = 0; turn < kTurns; ++turn) {
    for (__m256& chain : chains) chain = _mm256_fmadd_ps(chain, factor, addend);
  }
  __m256 sum = _mm256_setzero_ps();
  for (const __m256& chain : chains) sum = _mm256_add_ps(sum, chain);
  return _mm256_cvtss_f32(sum);
}

}  // namespace

double measure_fma_peak_gflops() {
  volatile float sink = 0;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = now_seconds();
    sink = run_chains();
    const double seconds = now_seconds() - begin;
    if (run == 0 || seconds < best) best = seconds;
  }
  static_cast<void>(sink);
  return 2.0 * kChains * kLanes * static_cast<double>(kTurns) / best * 1e-9;
}

}  // namespace sparsejit::frontend
