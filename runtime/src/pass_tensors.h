// PassTensors: the caller's tensors of one pass; absent ones are empty.
#pragma once

#include <span>

#include "sparsejit/tensor_view.h"

namespace sparsejit {

struct PassTensors {
  ConstImageView x;
  ConstImageView dy;    // backward
  ConstImageView gate;  // of a layer with ReLU, in the backward pass: its y
  ImageView y_or_dx;
  std::span<const float> values;
  std::span<const float> bias;
  std::span<float> d_values;
  std::span<float> d_bias;
};

}  // namespace sparsejit
