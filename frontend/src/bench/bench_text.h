// Texts of single results that more than one table shows. A missing result is "-".
#pragma once

#include <string>

#include "bench/results.h"

namespace sparsejit::frontend {

// "9.4 MiB"
std::string bytes_text(int64_t bytes);

// Milliseconds with four significant digits but at most five after the point; "*" when chosen.
std::string time_text(const BenchResult* result);

// How many times faster the second is.
std::string ratio_text(const BenchResult* slower, const BenchResult* faster);

}  // namespace sparsejit::frontend
