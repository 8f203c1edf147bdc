// Runs and their best; see memory_peaks.h.
#include "bench/memory_peaks.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/vector_read.h"
#include "matrix.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kFloatsOfTurn = 64;  // what read_vectors wants a multiple of
constexpr int64_t kLargestBuffer = int64_t{512} << 20;
constexpr int kRuns = 8;
constexpr double kL2RunBytes = 256e6;

int64_t whole_turns(int64_t floats) { return floats / kFloatsOfTurn * kFloatsOfTurn; }

template <typename Run>
double best_gbytes(double bytes, const Run& run) {
  double best = 0;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, bytes / seconds.count() * 1e-9);
  }
  return best;
}

}  // namespace

double measure_l2_gbytes(int64_t l2_bytes) {
  const int64_t count = std::max(whole_turns(l2_bytes / 2 / int64_t{sizeof(float)}), kFloatsOfTurn);
  const AlignedFloats buffer = allocate_floats(count);
  const auto turns = static_cast<int>(kL2RunBytes / static_cast<double>(count * sizeof(float))) + 1;
  volatile float sink = 0;
  return best_gbytes(static_cast<double>(count) * sizeof(float) * turns, [&] {
    for (int turn = 0; turn < turns; ++turn) sink = read_vectors(buffer.get(), count);
  });
}

double measure_memory_gbytes(int64_t l3_bytes, int threads) {
  const int64_t bytes = std::min(4 * l3_bytes, kLargestBuffer);
  const int64_t share =
      std::max(whole_turns(bytes / int64_t{sizeof(float)} / threads), kFloatsOfTurn);
  const AlignedFloats buffer = allocate_floats(share * threads);
  std::vector<float> sums(static_cast<size_t>(threads));
  const auto read_share = [&](int thread) {
    sums[thread] = read_vectors(buffer.get() + thread * share, share);
  };
  return best_gbytes(static_cast<double>(share * threads) * sizeof(float), [&] {
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(read_share, thread);
    read_share(0);
    for (std::thread& other : others) other.join();
  });
}

}  // namespace sparsejit::frontend
