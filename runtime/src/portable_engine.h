// Portable engine: plain loops over the stored weights of a mask and the pixels of a convolution,
// for CPUs without AVX2 and FMA, and the oracle of the other engines: it knows nothing of streams,
// taps or plans. Linear layers are 1x1 convolutions over images of one pixel.
//
// Work is shared among threads by rows or images; each call does [first, last) and writes nothing
// else. Any strides.
#pragma once

#include <span>

#include "lowered_layer.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit {

// y, for output channels [first, last).
void portable_forward(const LayerSpec& spec, const ConstImageView& x, std::span<const float> values,
                      std::span<const float> bias, bool relu, const ImageView& y, int64_t first,
                      int64_t last);

// d_values of output channels [first, last). `gate`: of a layer with ReLU its output, or empty.
void portable_value_gradient(const LayerSpec& spec, const ConstImageView& x,
                             const ConstImageView& dy, const ConstImageView& gate,
                             std::span<float> d_values, int64_t first, int64_t last);

// dx of images [first, last).
void portable_input_gradient(const LayerSpec& spec, const ConstImageView& dy,
                             const ConstImageView& gate, std::span<const float> values,
                             const ImageView& dx, int64_t first, int64_t last);

void portable_bias_gradient(const ConstImageView& dy, const ConstImageView& gate,
                            std::span<float> d_bias, int64_t first, int64_t last);

}  // namespace sparsejit
