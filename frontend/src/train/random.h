// Random: the only source of randomness in training.
//
// std::mt19937_64 gives the same numbers everywhere, the distributions of the standard library do
// not, so the few that are needed are written here with exact arithmetic. Every use takes its own
// generator from `mix_seed(seed, purpose, index)`: what one part draws never shifts another's
// numbers, which keeps runs on different engines and thread counts comparable.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace sparsejit::frontend {

enum class Purpose : uint64_t { mask = 1, values = 2, order = 3, growth = 4 };

// An independent seed for each (purpose, index); splitmix64's finalizer over the three.
inline uint64_t mix_seed(uint64_t seed, Purpose purpose, uint64_t index) {
  uint64_t mixed = seed;
  for (const uint64_t part : {static_cast<uint64_t>(purpose), index}) {
    mixed += 0x9e3779b97f4a7c15 + part;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
  }
  return mixed;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // Uniform in [0, bound), bound > 0; without bias.
  uint64_t below(uint64_t bound) {
    const uint64_t rest = UINT64_MAX % bound;
    uint64_t drawn = engine_();
    while (drawn >= UINT64_MAX - rest) drawn = engine_();
    return drawn % bound;
  }

  // Uniform in [-limit, limit).
  float symmetric(float limit) {
    const auto unit = static_cast<float>(engine_() >> 40) * 0x1p-23F;  // [0, 2), exact
    return (unit - 1.0F) * limit;
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sparsejit::frontend
