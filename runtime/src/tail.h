// Where the last vector of a panel lies when the panel is no multiple of the lanes.
//
//     length 21:  loop |0......7|8.....15|          loop_length 16
//                 tail              |13....20|      offset 13, mask 0 0 0 1 1 1 1 1
//
// A panel of a plan with tails always has one: where the length is a multiple after all, it is
// simply the last vector, and the loop one vector shorter.
#pragma once

#include <array>
#include <cstdint>

namespace sparsejit {

struct Tail {
  int64_t loop_length;
  int64_t offset;       // floats from the start of the panel
  const int32_t* mask;  // eight lanes, -1 where the tail does not overlap the loop, else 0
};

inline Tail tail_of(int64_t length) {
  static constexpr std::array<int32_t, 16> kMasks{0,  0,  0,  0,  0,  0,  0,  0,
                                                  -1, -1, -1, -1, -1, -1, -1, -1};
  const int64_t loop_length = (length - 1) / 8 * 8;
  return {loop_length, length - 8, &kMasks[length - loop_length]};
}

}  // namespace sparsejit
