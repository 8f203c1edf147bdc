// Packing: copies one slab of a tensor into streams, and back.
//
//     image rows  abc / def, row_pitch 4, padding 1      stream  0 0 0 0 | a b c 0 | d e f 0 | 0 0
//     0 0
//                                                                halo     data                 halo
//
// Everything of a packed stream is written: pixels, the zero gaps between rows and images, and the
// zeros (of a band: the neighbouring rows) before and after, which taps of border pixels read.
// Planes of strided convolutions are taken apart, and put together when unpacking; pixels that no
// output reads are written as zeros then.
//
// Contiguous rows are copied with whole and masked vectors, channels-last and row-major tensors are
// transposed in registers, 8x8 floats at a time. Compiled for AVX2; called only where the CPU has
// it. Reads and writes exactly the elements of the view; inside its buffer a vector of a stream may
// write up to seven zeros too far, which what follows overwrites.
#pragma once

#include <cstdint>

#include "runs.h"

namespace sparsejit {

// Room that vectors need behind the last stream of a buffer.
inline constexpr int64_t kPackSlack = 8;

struct PackedSlab {
  float* data = nullptr;  // first pixel of the slab of stream 0
  int64_t pitch = 0;      // from stream to stream
  int64_t front = 0;      // floats before `data` that taps may read
  int64_t length = 0;     // floats from `data` that taps may read
  int64_t halo_rows = 0;  // rows of the image beyond the slab that are packed too
};

// What a slab is a slab of.
struct PackGeometry {
  const StreamSide& side;
  const StreamGrid& grid;
  Slab slab;
};

// Channels [first, last) of the view.
void pack(const ConstImageView& view, const PackGeometry& geometry, const PackedSlab& packed,
          int64_t first, int64_t last);
void unpack(const PackedSlab& packed, const PackGeometry& geometry, const ImageView& view,
            int64_t first, int64_t last);

// Zeroes the gradient of streams [first, last) where the output of a ReLU was 0 or less.
void gate_gradient(const PackedSlab& gradient, const PackedSlab& output, int64_t first,
                   int64_t last);

// sums[f] = (or +=) sum of `length` floats at data + f * pitch, for f in [first, last).
void sum_streams(const float* data, int64_t pitch, int64_t length, int64_t first, int64_t last,
                 bool accumulate, float* sums);

}  // namespace sparsejit
