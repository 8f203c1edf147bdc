// sparsejit_soak: changes masks for ever and watches what must not grow.
//
//     sparsejit_soak [--changes N]          default 2000
//
// Several layers share a runtime of two threads and a code budget that holds a small part of what
// is generated, so kernels are evicted all the time. Resident memory is compared as means of up to
// 4000 changes each, right after a warm-up and at the end: one moment says little, because how full
// the code memory is, and in how many arenas, swings by some 6%. It may rise by 2%, in short runs,
// whose means are of few changes, by 8%; code bytes may never exceed the budget; every kCheckEvery
// changes a layer is compared with the reference. Prints a summary; exit code 0: all held, 1: not,
// 2: wrong arguments.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string_view>
#include <vector>

#include "soak/soak_layer.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

constexpr int64_t kWarmUp = 500;
constexpr int64_t kLongestWindow = 4000;
constexpr int64_t kShortRun = 10000;
constexpr int64_t kFewestChanges = 600;
constexpr int64_t kCheckEvery = 27;
constexpr int64_t kCodeBudget = int64_t{4} << 20;
constexpr double kMayGrow = 0.02;
constexpr double kMayGrowShort = 0.08;

int64_t resident_bytes() {
  int64_t total = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct Figures {
  int64_t generated = 0;
  int64_t most_code = 0;
  int64_t resident_first = 0;  // means of the windows
  int64_t resident_last = 0;
  int64_t resident_most = 0;  // after the warm-up
  RuntimeStats stats = {};
  double seconds = 0;
};

Figures soak(int64_t changes) {
  Runtime runtime({.threads = 2, .code_budget_bytes = kCodeBudget});
  Runtime portable({.threads = 1});
  std::vector<SoakLayer> layers;
  for (const SoakSpec& spec : soak_specs()) layers.emplace_back(spec, runtime);
  const auto count = static_cast<int64_t>(layers.size());
  const int64_t window = std::min(kLongestWindow, (changes - kWarmUp) / 2);
  Figures figures;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 1; i <= changes; ++i) {
    SoakLayer& layer = layers[static_cast<size_t>(i % count)];
    figures.generated += layer.change(i / count);
    // The stride visits every layer on each of its kinds of mask.
    if (i % kCheckEvery == 0) layer.check(portable, static_cast<uint64_t>(i));
    figures.most_code = std::max(figures.most_code, runtime.stats().code_bytes);
    if (i <= kWarmUp) continue;
    const int64_t resident = resident_bytes();
    figures.resident_most = std::max(figures.resident_most, resident);
    if (i <= kWarmUp + window) figures.resident_first += resident / window;
    if (i > changes - window) figures.resident_last += resident / window;
  }
  figures.stats = runtime.stats();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  figures.seconds = time.count();
  return figures;
}

// True when everything held; says what did not.
bool report(const Figures& figures, int64_t changes) {
  const double growth =
      static_cast<double>(figures.resident_last) / static_cast<double>(figures.resident_first) - 1;
  fmt::print("{} changes in {:.1f} s: {} kernels generated, {} cache hits, {} evictions\n", changes,
             figures.seconds, figures.generated, figures.stats.cache_hits, figures.stats.evictions);
  fmt::print("code: at most {} of {} KiB\n", figures.most_code >> 10, kCodeBudget >> 10);
  fmt::print(
      "resident: mean of {} KiB after {} changes, {} KiB at the end ({:+.2f}%), most {} KiB\n",
      figures.resident_first >> 10, kWarmUp, figures.resident_last >> 10, 100 * growth,
      figures.resident_most >> 10);
  EXPECT_LE(figures.most_code, kCodeBudget);
  // Sanitizers keep freed memory resident.
  EXPECT_TRUE(kSanitized || growth <= (changes < kShortRun ? kMayGrowShort : kMayGrow)) << growth;
  return !::testing::Test::HasFailure();
}

}  // namespace
}  // namespace sparsejit::test

int main(int argc, char** argv) {
  int64_t changes = 2000;
  if (argc == 3 && std::string_view(argv[1]) == "--changes") {
    const std::string_view text = argv[2];
    const auto [end, error] = std::from_chars(text.begin(), text.end(), changes);
    if (error != std::errc{} || end != text.end()) changes = 0;
  } else if (argc != 1) {
    changes = 0;
  }
  if (changes < sparsejit::test::kFewestChanges) {
    fmt::print(stderr, "usage: sparsejit_soak [--changes N], N at least {}\n",
               sparsejit::test::kFewestChanges);
    return 2;
  }
  const bool held = sparsejit::test::report(sparsejit::test::soak(changes), changes);
  fmt::print("{}\n", held ? "all held" : "FAILED");
  return held ? 0 : 1;
}
