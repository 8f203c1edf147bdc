// The elementwise parts of the network on feature maps: bias, ReLU, pooling and the loss.
//
// All run on one thread and in a fixed order. Views are those of FeatureMaps: the images of one
// channel follow each other without gaps. NaN passes through a ReLU and its gradient, as in
// generated code.
#pragma once

#include <cstdint>
#include <span>

#include "matrix.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit::frontend {

void add_bias(std::span<const float> bias, ImageView y);
// sums[channel] = sum over images and pixels: the gradient of the bias.
void sum_channels(ConstImageView dy, std::span<float> sums);

// y = max(y, 0)
void apply_relu(ImageView y);
// dy = 0 where y, the ReLU's output, is 0.
void apply_relu_gradient(ConstImageView y, ImageView dy);

// mean, of one pixel an image, becomes the mean over each image of x; and the gradient of that.
void average_images(ConstImageView x, ImageView mean);
void spread_gradient(ConstImageView d_mean, ImageView dx);

struct LossSum {
  double loss = 0;      // sum of -log(probability of the right class)
  int64_t correct = 0;  // samples whose right class has the largest logit (ties: lowest class)
};

// Softmax cross-entropy of (classes x samples) logits. With `d_logits` also writes the gradient
// of the mean loss: (softmax - one-hot) / samples. It may be null.
LossSum softmax_cross_entropy(const StreamMatrix& logits, std::span<const uint8_t> labels,
                              StreamMatrix* d_logits);

}  // namespace sparsejit::frontend
