// What all workloads together say: geometric means of the speed-ups, whether the picker picked
// well, and every line where generated code lost by more than kNoise. Text only, made from
// finished results.
#pragma once

#include <span>
#include <string>

#include "bench/results.h"

namespace sparsejit::frontend {

// Medians of one run differ by this much without a cause.
inline constexpr double kNoise = 0.03;

// Empty when there is nothing to compare.
std::string summary(std::span<const WorkloadResults> groups);

}  // namespace sparsejit::frontend
