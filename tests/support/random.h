// Seeded numbers for tests: the same on every machine and standard library.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace sparsejit::test {

// Uniform in [-1, 1), multiples of 2^-23.
inline std::vector<float> random_floats(int64_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<float> result(static_cast<size_t>(count));
  for (float& value : result) {
    value = static_cast<float>(static_cast<int64_t>(generator() >> 40) - (1 << 23)) * 0x1p-23F;
  }
  return result;
}

}  // namespace sparsejit::test
