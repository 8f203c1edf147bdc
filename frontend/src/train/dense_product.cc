// The dense LinearProduct: OpenBLAS on the full matrix, its gradient read at the stored positions.
#include <algorithm>

#include "dense_blas.h"
#include "train/linear_product.h"

namespace sparsejit::frontend {
namespace {

class DenseProduct final : public LinearProduct {
 public:
  DenseProduct(const Mask& mask, int threads) : threads_(threads) { store(mask); }

  void run_forward(ConstTensorView x, std::span<const float> values, std::span<const float> bias,
                   TensorView y) override {
    for_each_stored([&](size_t position, size_t index) { weight_[position] = values[index]; });
    set_dense_threads(threads_);
    dense_forward(shape(x), weight_.data(), x.data, x.feature_stride, y.data, y.feature_stride);
    for (int64_t row = 0; row < y.features; ++row) {
      float* stream = y.data + row * y.feature_stride;
      const float start = bias[static_cast<size_t>(row)];
      for (int64_t sample = 0; sample < y.batch; ++sample) stream[sample] += start;
    }
  }

  void run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> /*values*/,
                    TensorView dx, std::span<float> d_values, std::span<float> d_bias) override {
    set_dense_threads(threads_);
    if (!dx.empty()) {
      dense_backward_input(shape(x), weight_.data(), dy.data, dy.feature_stride, dx.data,
                           dx.feature_stride);
    }
    dense_backward_weight(shape(x), dy.data, dy.feature_stride, x.data, x.feature_stride,
                          gradient_.data());
    for_each_stored([&](size_t position, size_t index) { d_values[index] = gradient_[position]; });
    for (int64_t row = 0; row < dy.features; ++row) {
      const float* stream = dy.data + row * dy.feature_stride;
      float sum = 0.0F;
      for (int64_t sample = 0; sample < dy.batch; ++sample) sum += stream[sample];
      d_bias[static_cast<size_t>(row)] = sum;
    }
  }

  std::span<const float> dense_gradient(ConstTensorView /*x*/, ConstTensorView /*dy*/) override {
    return gradient_;
  }

  MaskChange set_mask(const Mask& mask) override {
    MaskChange change = compare_masks(mask_, mask);
    if (change.changed()) store(mask);
    return change;
  }

  const Mask& mask() const override { return mask_; }
  std::vector<KernelReport> report() const override { return {}; }

 private:
  DenseShape shape(ConstTensorView x) const { return {mask_.rows(), mask_.cols(), x.batch}; }

  void store(const Mask& mask) {
    mask_ = mask;
    const auto positions = static_cast<size_t>(mask.rows() * mask.cols());
    weight_.assign(positions, 0.0F);
    gradient_.resize(positions);
  }

  template <typename Visit>
  void for_each_stored(Visit visit) const {
    const auto cols = static_cast<size_t>(mask_.cols());
    for (size_t row = 0; row < static_cast<size_t>(mask_.rows()); ++row) {
      const auto end = static_cast<size_t>(mask_.row_begin()[row + 1]);
      for (auto i = static_cast<size_t>(mask_.row_begin()[row]); i < end; ++i) {
        visit(row * cols + static_cast<size_t>(mask_.columns()[i]), i);
      }
    }
  }

  Mask mask_;
  int threads_;
  std::vector<float> weight_;    // rows*cols, 0 where nothing is stored
  std::vector<float> gradient_;  // rows*cols
};

}  // namespace

std::unique_ptr<LinearProduct> make_dense_product(const Mask& mask, int threads) {
  return std::make_unique<DenseProduct>(mask, threads);
}

}  // namespace sparsejit::frontend
