// Portable engine: plain C++ on the caller's strided views, no packing, no vector extensions.
// The oracle for the other engines, and what runs where AVX2 or FMA is missing.
//
// Each function handles rows [first, last) of its table; rows are independent.
#pragma once

#include <span>

#include "sparsejit/taps.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit {

void portable_forward(const TapTable& table, const ConstTensorView& x,
                      std::span<const float> values, std::span<const float> bias,
                      const TensorView& y, int64_t first, int64_t last);

// dx may be empty.
void portable_backward(const TapTable& table, const ConstTensorView& x, const ConstTensorView& dy,
                       std::span<const float> values, const TensorView& dx,
                       std::span<float> d_values, int64_t first, int64_t last);

void portable_bias_gradient(const ConstTensorView& dy, std::span<float> d_bias, int64_t first,
                            int64_t last);

}  // namespace sparsejit
