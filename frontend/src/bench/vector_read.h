// Reads a buffer with AVX2 loads and does next to nothing with it: the loop that memory_peaks.h
// times. Its source is compiled for AVX2: call it only where the machine has it.
#pragma once

#include <cstdint>

namespace sparsejit::frontend {

// Returns the sum, so that no load can be left out. `count`: a multiple of 64.
float read_vectors(const float* data, int64_t count);

}  // namespace sparsejit::frontend
