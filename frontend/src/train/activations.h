// The elementwise parts of the network on feature-major activations: ReLU and the loss.
//
// All run on one thread and in a fixed order. Only the first `samples` columns count.
#pragma once

#include <cstdint>
#include <span>

#include "matrix.h"

namespace sparsejit::frontend {

// y = max(y, 0)
void apply_relu(StreamMatrix& y, int64_t samples);

// dy = 0 where y, the ReLU's output, is 0.
void apply_relu_gradient(const StreamMatrix& y, StreamMatrix& dy, int64_t samples);

struct LossSum {
  double loss = 0;      // sum of -log(probability of the right class)
  int64_t correct = 0;  // samples whose right class has the largest logit (ties: lowest class)
};

// Softmax cross-entropy of (classes x samples) logits. With `d_logits` also writes the gradient
// of the mean loss: (softmax - one-hot) / samples. It may be null.
LossSum softmax_cross_entropy(const StreamMatrix& logits, std::span<const uint8_t> labels,
                              StreamMatrix* d_logits);

}  // namespace sparsejit::frontend
