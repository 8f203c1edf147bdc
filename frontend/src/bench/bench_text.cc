// Numbers to text; see bench_text.h.
#include "bench/bench_text.h"

#include <algorithm>
#include <cmath>

#include "sparsejit/error.h"

namespace sparsejit::frontend {

std::string bytes_text(int64_t bytes) {
  constexpr int64_t kKib = 1 << 10;
  constexpr int64_t kMib = 1 << 20;
  if (bytes >= kMib) {
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMib));
  }
  return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / static_cast<double>(kKib));
}

std::string time_text(const BenchResult* result) {
  if (result == nullptr) return "-";
  const double ms = std::max(result->median_ms, 1e-9);
  const int digits = std::clamp(3 - static_cast<int>(std::floor(std::log10(ms))), 0, 5);
  return fmt::format("{:.{}f}{}", ms, digits, result->chosen ? "*" : " ");
}

std::string ratio_text(const BenchResult* slower, const BenchResult* faster) {
  if (slower == nullptr || faster == nullptr || faster->median_ms <= 0) return "-";
  return fmt::format("{:.2f}", slower->median_ms / faster->median_ms);
}

}  // namespace sparsejit::frontend
