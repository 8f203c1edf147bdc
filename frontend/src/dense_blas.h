// Dense products by OpenBLAS: the baseline of `bench` and the dense engine of `train`. W is
// row-major (out x in), pitches in floats. Every function overwrites its output,
// but the one that says add.
//
// Activations are feature-major, X (in x batch) and Y (out x batch). The functions named
// row_major, which `bench` also tries, take X (batch x in) and Y (batch x out).
#pragma once

#include <cstdint>
#include <string>

#include "sparsejit/runtime.h"

namespace sparsejit::frontend {

struct DenseShape {
  int64_t out = 0;
  int64_t in = 0;
  int64_t batch = 0;
};

// Y = W X
void dense_forward(DenseShape shape, const float* w, const float* x, int64_t x_pitch, float* y,
                   int64_t y_pitch);
// dX = W^T dY
void dense_backward_input(DenseShape shape, const float* w, const float* dy, int64_t dy_pitch,
                          float* dx, int64_t dx_pitch);
// dW = dY X^T
void dense_backward_weight(DenseShape shape, const float* dy, int64_t dy_pitch, const float* x,
                           int64_t x_pitch, float* dw);
// dW += dY X^T
void dense_add_backward_weight(DenseShape shape, const float* dy, int64_t dy_pitch, const float* x,
                               int64_t x_pitch, float* dw);

void dense_forward_row_major(DenseShape shape, const float* w, const float* x, int64_t x_pitch,
                             float* y, int64_t y_pitch);
void dense_backward_input_row_major(DenseShape shape, const float* w, const float* dy,
                                    int64_t dy_pitch, float* dx, int64_t dx_pitch);
void dense_backward_weight_row_major(DenseShape shape, const float* dy, int64_t dy_pitch,
                                     const float* x, int64_t x_pitch, float* dw);

// For RuntimeOptions::sgemm, with which dense is a candidate of the library.
void dense_sgemm(const Sgemm& product);

void set_dense_threads(int threads);
std::string dense_library();  // name, version, kernel, e.g. "OpenBLAS 0.3.21 SkylakeX"

}  // namespace sparsejit::frontend
