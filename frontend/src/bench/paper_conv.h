// The paper's two kernels for convolutions (SparseProp, Algorithm 2, with its indices put right):
//
//     rows: NCHW tensors as they are, vectors along a row of the output. Column stride 1 only.
//         for image, for out channel, for i in its stored weights: w = values[i], tap = taps[i]
//           for p in output rows whose input row exists:
//             for q in output columns whose input column exists, by 8:
//               y[image][out][p][q] += w * x[image][tap.channel][p*s + tap.row][q + tap.column]
//
//     batch innermost: tensors permuted to (channel, row, column, image), vectors along the images.
//     Any stride. The permutations of inputs and outputs are part of the work.
//         for out channel, for i ..., for p, for q:
//           for images by 8:
//             y[out][p][q][image] += w * x[tap.channel][p*s + tap.row][q*s + tap.column][image]
//
// Backward is the same pass with dx[...] += w * dy and the sum of x * dy, as in paper_loop.h. The
// output is loaded and stored for every weight and vector. Batches are padded with zeros to whole
// vectors in the permuted tensors, which is in the paper's favour. One thread. Needs AVX2 and FMA:
// the source is compiled for them, and so includes nothing with inline functions of others.
#pragma once

#include <cstdint>

namespace sparsejit::frontend {

// A stored weight: its input channel, and input pixel = output pixel * stride + this.
struct PaperTap {
  int64_t channel = 0;
  int64_t row = 0;
  int64_t column = 0;
};

struct PaperConv {
  int64_t images = 0;
  int64_t in = 0;
  int64_t out = 0;
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t row_stride = 1;
  int64_t column_stride = 1;
  const int64_t* row_begin = nullptr;
  const PaperTap* taps = nullptr;
  const float* values = nullptr;
};

// NCHW tensors. `bias` and `dx` may be null. Outputs are overwritten. column_stride is 1.
void paper_rows_forward(const PaperConv& conv, const float* x, const float* bias, float* y);
void paper_rows_backward(const PaperConv& conv, const float* x, const float* dy, float* dx,
                         float* d_values);

// Tensors as permute_to_batch_innermost leaves them; else the same.
void paper_batch_forward(const PaperConv& conv, const float* x, const float* bias, float* y);
void paper_batch_backward(const PaperConv& conv, const float* x, const float* dy, float* dx,
                          float* d_values);

// Floats of a pixel in the permuted tensors: the images, up to whole vectors.
int64_t paper_batch_pitch(int64_t images);
// (images, plane) -> (plane, pitch) and back, where a plane is all pixels of all channels.
void permute_to_batch_innermost(const float* nchw, int64_t images, int64_t plane, float* permuted);
void permute_from_batch_innermost(const float* permuted, int64_t images, int64_t plane,
                                  float* nchw);

}  // namespace sparsejit::frontend
