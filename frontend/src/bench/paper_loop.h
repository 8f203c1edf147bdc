// The paper's loops (SparseProp, Algorithm 1), the baseline this project improves on: for every
// stored weight, for every vector of the batch, the output is loaded, updated and stored.
//
//     forward                                   backward
//     for i in stored: w = values[i]            for i in stored: w = values[i], sum = 0
//       for t in batch by 8:                      for t in batch by 8:
//         y[row][t] += w * x[col][t]                dx[col][t] += w * dy[row][t]
//                                                   sum += x[col][t] * dy[row][t]
//                                                 d_values[i] = sum
//
// Activations are feature-major; samples beyond the last whole vector are scalar. One thread.
// Needs AVX2 and FMA (machine().avx2_fma): its source is compiled for them, and so includes
// nothing whose inline functions could end up in other objects.
#pragma once

#include <cstdint>

namespace sparsejit::frontend {

struct PaperLayer {
  int64_t rows = 0;  // output features
  int64_t cols = 0;  // input features
  int64_t batch = 0;
  int64_t pitch = 0;  // of every activation, in floats
  const int64_t* row_begin = nullptr;
  const int32_t* columns = nullptr;
  const float* values = nullptr;
};

// y = W x + bias; bias may be null. Overwrites y.
void paper_forward(const PaperLayer& layer, const float* x, const float* bias, float* y);

// dx may be null. Overwrites dx and d_values.
void paper_backward(const PaperLayer& layer, const float* x, const float* dy, float* dx,
                    float* d_values);

}  // namespace sparsejit::frontend
