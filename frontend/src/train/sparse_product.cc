// The sparse LinearProduct: a sparsejit::Layer, plus the dense gradient RigL asks for now and
// then. That one runs on one OpenBLAS thread, so that the positions it grows are always the same.
#include "dense_blas.h"
#include "train/linear_product.h"

namespace sparsejit::frontend {
namespace {

class SparseProduct final : public LinearProduct {
 public:
  SparseProduct(const Mask& mask, const LayerOptions& options)
      : layer_(compile_layer(mask, options)) {}

  void run_forward(ConstTensorView x, std::span<const float> values, std::span<const float> bias,
                   TensorView y) override {
    layer_.run_forward(x, values, bias, y);
  }

  void run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> values,
                    TensorView dx, std::span<float> d_values, std::span<float> d_bias) override {
    layer_.run_backward(x, dy, values, dx, d_values, d_bias);
  }

  std::span<const float> dense_gradient(ConstTensorView x, ConstTensorView dy) override {
    gradient_.resize(static_cast<size_t>(mask().rows() * mask().cols()));
    set_dense_threads(1);
    dense_backward_weight({mask().rows(), mask().cols(), x.batch}, dy.data, dy.feature_stride,
                          x.data, x.feature_stride, gradient_.data());
    return gradient_;
  }

  MaskChange set_mask(const Mask& mask) override { return layer_.set_mask(mask); }
  const Mask& mask() const override { return layer_.mask(); }
  std::vector<KernelReport> report() const override { return layer_.report(); }

 private:
  Layer layer_;
  std::vector<float> gradient_;  // allocated by the first dense_gradient
};

}  // namespace

std::unique_ptr<LinearProduct> make_sparse_product(const Mask& mask, const LayerOptions& options) {
  return std::make_unique<SparseProduct>(mask, options);
}

}  // namespace sparsejit::frontend
