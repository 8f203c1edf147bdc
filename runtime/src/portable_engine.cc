#include "portable_engine.h"

namespace sparsejit {
namespace {

template <typename T>
T* stream(const BasicTensorView<T>& view, int64_t feature) {
  return view.data + feature * view.feature_stride;
}

}  // namespace

void portable_forward(const TapTable& table, const ConstTensorView& x,
                      std::span<const float> values, std::span<const float> bias,
                      const TensorView& y, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    float* to = stream(y, row);
    const float start = bias.empty() ? 0.0F : bias[row];
    for (int64_t t = 0; t < y.batch; ++t) to[t * y.batch_stride] = start;
    for (int64_t i = table.row_begin[row]; i < table.row_begin[row + 1]; ++i) {
      const float value = values[table.taps[i].value];
      const float* from = stream(x, table.taps[i].stream);
      for (int64_t t = 0; t < y.batch; ++t) {
        to[t * y.batch_stride] += value * from[t * x.batch_stride];
      }
    }
  }
}

void portable_backward(const TapTable& table, const ConstTensorView& x, const ConstTensorView& dy,
                       std::span<const float> values, const TensorView& dx,
                       std::span<float> d_values, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const float* paired = stream(x, row);
    float* to = dx.empty() ? nullptr : stream(dx, row);
    for (int64_t t = 0; t < x.batch && to != nullptr; ++t) to[t * dx.batch_stride] = 0.0F;
    for (int64_t i = table.row_begin[row]; i < table.row_begin[row + 1]; ++i) {
      const int32_t value_index = table.taps[i].value;
      const float* from = stream(dy, table.taps[i].stream);
      float sum = 0.0F;
      for (int64_t t = 0; t < x.batch; ++t) {
        const float gradient = from[t * dy.batch_stride];
        sum += gradient * paired[t * x.batch_stride];
        if (to != nullptr) to[t * dx.batch_stride] += values[value_index] * gradient;
      }
      d_values[value_index] = sum;
    }
  }
}

void portable_bias_gradient(const ConstTensorView& dy, std::span<float> d_bias, int64_t first,
                            int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const float* from = stream(dy, row);
    float sum = 0.0F;
    for (int64_t t = 0; t < dy.batch; ++t) sum += from[t * dy.batch_stride];
    d_bias[row] = sum;
  }
}

}  // namespace sparsejit
