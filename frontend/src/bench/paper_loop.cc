// The paper's loops over stored weights; see paper_loop.h. Compiled with -mavx2 -mfma, so it must
// not be entered on a machine without them.
#include "bench/paper_loop.h"

#include "bench/paper_vector.h"

namespace sparsejit::frontend {

void paper_forward(const PaperLayer& layer, const float* x, const float* bias, float* y) {
  for (int64_t row = 0; row < layer.rows; ++row) {
    float* y_stream = y + row * layer.pitch;
    fill_run(y_stream, layer.batch, bias == nullptr ? 0.0F : bias[row]);
    for (int64_t i = layer.row_begin[row]; i < layer.row_begin[row + 1]; ++i) {
      forward_run(layer.values[i], x + layer.columns[i] * layer.pitch, y_stream, layer.batch);
    }
  }
}

void paper_backward(const PaperLayer& layer, const float* x, const float* dy, float* dx,
                    float* d_values) {
  for (int64_t col = 0; col < layer.cols && dx != nullptr; ++col) {
    fill_run(dx + col * layer.pitch, layer.batch, 0.0F);
  }
  for (int64_t row = 0; row < layer.rows; ++row) {
    const float* dy_stream = dy + row * layer.pitch;
    for (int64_t i = layer.row_begin[row]; i < layer.row_begin[row + 1]; ++i) {
      const int64_t offset = layer.columns[i] * layer.pitch;
      WeightGradient gradient;
      if (dx == nullptr) {
        backward_weight_run(x + offset, dy_stream, layer.batch, gradient);
      } else {
        backward_run(layer.values[i], x + offset, dy_stream, dx + offset, layer.batch, gradient);
      }
      d_values[i] = gradient.sum();
    }
  }
}

}  // namespace sparsejit::frontend
