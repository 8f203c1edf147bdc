// Amounts as people read them: "12.3 ms", "4.5 MB".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace sparsejit::frontend {

inline std::string seconds_text(double seconds) {
  if (seconds < 1e-5) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1.0) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

// Powers of 1024.
inline std::string bytes_text(int64_t bytes) {
  constexpr double kKilo = 1024.0;
  const auto amount = static_cast<double>(bytes);
  if (amount < kKilo) return fmt::format("{} B", bytes);
  if (amount < kKilo * kKilo) return fmt::format("{:.1f} KB", amount / kKilo);
  return fmt::format("{:.1f} MB", amount / (kKilo * kKilo));
}

}  // namespace sparsejit::frontend
