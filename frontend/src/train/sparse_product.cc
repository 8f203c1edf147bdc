// The sparse Product: a sparsejit::Layer, plus the dense gradient RigL asks for now and then. That
// one runs on one OpenBLAS thread, so that the positions it grows are always the same.
#include "train/activations.h"
#include "train/blas_conv.h"
#include "train/product.h"

namespace sparsejit::frontend {
namespace {

// Images of one pixel as the samples of a linear layer.
template <typename T>
BasicTensorView<T> to_vectors(const BasicImageView<T>& view) {
  return {view.data, view.images, view.channels, view.image_stride, view.channel_stride};
}

Layer compile(const LayerSpec& layer, const Mask& mask, const LayerOptions& options) {
  return layer.is_conv2d ? compile_layer(mask, layer.conv, options) : compile_layer(mask, options);
}

class SparseProduct final : public Product {
 public:
  SparseProduct(const LayerSpec& layer, const Mask& mask, const LayerOptions& options)
      : relu_(options.relu),
        layer_(compile(layer, mask, options)),
        dense_(layer.shape, layer.conv) {}

  void run_forward(ConstImageView x, std::span<const float> values, std::span<const float> bias,
                   ImageView y) override {
    if (layer_.is_conv2d()) {
      layer_.run_forward(x, values, bias, y);
    } else {
      layer_.run_forward(to_vectors(x), values, bias, to_vectors(y));
    }
  }

  void run_backward(ConstImageView x, ConstImageView y, ImageView dy, std::span<const float> values,
                    ImageView dx, std::span<float> d_values, std::span<float> d_bias) override {
    if (layer_.is_conv2d()) {
      layer_.run_backward(x, dy, values, dx, d_values, d_bias, y);
    } else {
      layer_.run_backward(to_vectors(x), to_vectors(dy), values, to_vectors(dx), d_values, d_bias,
                          to_vectors(y));
    }
  }

  std::span<const float> dense_gradient(ConstImageView x, ConstImageView y, ImageView dy) override {
    if (relu_) apply_relu_gradient(y, dy);
    gradient_.resize(static_cast<size_t>(mask().rows() * mask().cols()));
    set_dense_threads(1);
    dense_.run_backward_weight(x, dy, gradient_.data());
    return gradient_;
  }

  MaskChange set_mask(const Mask& mask) override { return layer_.set_mask(mask); }
  const Mask& mask() const override { return layer_.mask(); }
  std::vector<KernelReport> report() const override { return layer_.report(); }

 private:
  bool relu_;
  Layer layer_;
  BlasConv dense_;
  std::vector<float> gradient_;  // allocated by the first dense_gradient
};

}  // namespace

std::unique_ptr<Product> make_sparse_product(const LayerSpec& layer, const Mask& mask,
                                             LayerOptions options) {
  options.relu = layer.relu;
  return std::make_unique<SparseProduct>(layer, mask, options);
}

}  // namespace sparsejit::frontend
