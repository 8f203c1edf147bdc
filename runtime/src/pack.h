// Packing: copies a piece of a strided (batch, features) view into streams, and back.
//
//     panel.data[feature * pitch + t] = view(sample start + t, feature)      t < length
//     panel.data[feature * pitch + t] = 0                                    length <= t < padded
//
// Row-major views are transposed in registers, 8x8 floats at a time. Compiled for AVX2; called
// only where the CPU has it. Reads and writes exactly the elements of the view.
#pragma once

#include <cstdint>

#include "sparsejit/tensor_view.h"

namespace sparsejit {

struct PackedPanel {
  float* data = nullptr;  // stream f starts at data + f * pitch
  int64_t pitch = 0;
  int64_t start = 0;          // first sample
  int64_t length = 0;         // samples
  int64_t padded_length = 0;  // multiple of the lanes, at least length
};

// Features [first, last) of the view into the panel; the gap behind `length` is zeroed.
void pack(const ConstTensorView& view, const PackedPanel& panel, int64_t first, int64_t last);

// Features [first, last) of the panel into the view.
void unpack(const PackedPanel& panel, const TensorView& view, int64_t first, int64_t last);

// sums[f] = (or +=) sum of `length` floats at data + f * pitch, for f in [first, last).
void sum_streams(const float* data, int64_t pitch, int64_t length, int64_t first, int64_t last,
                 bool accumulate, float* sums);

}  // namespace sparsejit
