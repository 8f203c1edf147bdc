// Where streams lie in a tensor or a packed slab, for those who copy them elsewhere.
#pragma once

#include <cstdint>
#include <span>

#include "sparsejit/conv2d.h"

namespace sparsejit {

// Either stride may be 1, any other is fine too.
struct StreamTarget {
  float* data = nullptr;      // first float of stream 0
  int64_t stream_stride = 0;  // floats from stream to stream
  int64_t float_stride = 0;   // from one float of a stream to the next
};

struct StreamSource {
  const float* data = nullptr;
  int64_t stream_stride = 0;
  int64_t float_stride = 0;
  // Where taps have shifts, these of each channel are wanted, whose streams are its planes.
  std::span<const ShiftedPlane> shifted{};
  int64_t planes = 1;  // of a channel

  // Calls call(first float of stream) for streams [first, last).
  template <typename Call>
  void for_each_stream(int64_t first, int64_t last, const Call& call) const {
    if (shifted.empty()) {
      for (int64_t i = first; i < last; ++i) call(data + i * stream_stride);
      return;
    }
    const auto count = static_cast<int64_t>(shifted.size());
    int64_t index = first % count;
    const float* channel = data + first / count * planes * stream_stride;
    for (int64_t i = first; i < last; ++i) {
      call(channel + shifted[index].plane * stream_stride + shifted[index].shift);
      if (++index < count) continue;
      index = 0;
      channel += planes * stream_stride;
    }
  }
};

}  // namespace sparsejit
