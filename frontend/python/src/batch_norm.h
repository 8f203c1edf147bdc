// Batch normalization of images in training, with or without a ReLU behind it, and its gradients.
//
//     y = max(0, (x - mean) / sqrt(variance + epsilon) * weight + bias)     per channel
//
// PyTorch's own kernel for images in NCHW order adds up in scalar doubles; in a sparse ResNet it
// takes as long as the convolutions. Here a channel is read from memory once a pass and its further
// visits hit the cache; sums are of eight floats at a time within an image, of doubles over images.
// The backward pass computes y again instead of keeping it.
//
// Needs AVX2 and FMA, which the caller has checked. Channels do not depend on each other: several
// threads may call with ranges that do not overlap, and results do not depend on their number.
#pragma once

#include <cstdint>

namespace sparsejit::python {

// Tensors are contiguous, images x channels x pixels.
struct NormShape {
  int64_t images = 0;
  int64_t channels = 0;
  int64_t pixels = 0;
};

// Of `channels` entries each.
struct NormParameters {
  const float* weight = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
  bool relu = false;
};

struct ChannelRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Writes y, and of each channel the mean and the variance (divided by the count).
void batch_norm_forward(const NormShape& shape, const NormParameters& parameters,
                        ChannelRange channels, const float* x, float* y, float* mean,
                        float* variance);

// dx may be null. d_weight and d_bias have `channels` entries.
void batch_norm_backward(const NormShape& shape, const NormParameters& parameters,
                         ChannelRange channels, const float* x, const float* dy, const float* mean,
                         const float* variance, float* dx, float* d_weight, float* d_bias);

}  // namespace sparsejit::python
