// The dense Product: OpenBLAS on the full weight, its gradient read at the stored positions.
#include <algorithm>

#include "train/activations.h"
#include "train/blas_conv.h"
#include "train/product.h"

namespace sparsejit::frontend {
namespace {

class DenseProduct final : public Product {
 public:
  DenseProduct(const LayerSpec& layer, const Mask& mask, int threads)
      : dense_(layer.shape, layer.conv), relu_(layer.relu), threads_(threads) {
    store(mask);
  }

  void run_forward(ConstImageView x, std::span<const float> values, std::span<const float> bias,
                   ImageView y) override {
    for_each_stored([&](size_t position, size_t index) { weight_[position] = values[index]; });
    set_dense_threads(threads_);
    dense_.run_forward(weight_.data(), x, y);
    add_bias(bias, y);
    if (relu_) apply_relu(y);
  }

  void run_backward(ConstImageView x, ConstImageView y, ImageView dy,
                    std::span<const float> /*values*/, ImageView dx, std::span<float> d_values,
                    std::span<float> d_bias) override {
    if (relu_) apply_relu_gradient(y, dy);
    set_dense_threads(threads_);
    if (!dx.empty()) dense_.run_backward_input(weight_.data(), dy, dx);
    dense_.run_backward_weight(x, dy, gradient_.data());
    for_each_stored([&](size_t position, size_t index) { d_values[index] = gradient_[position]; });
    sum_channels(dy, d_bias);
  }

  std::span<const float> dense_gradient(ConstImageView /*x*/, ConstImageView /*y*/,
                                        ImageView /*dy*/) override {
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
  BlasConv dense_;
  bool relu_;
  int threads_;
  std::vector<float> weight_;    // rows*cols, 0 where nothing is stored
  std::vector<float> gradient_;  // rows*cols
};

}  // namespace

std::unique_ptr<Product> make_dense_product(const LayerSpec& layer, const Mask& mask, int threads) {
  return std::make_unique<DenseProduct>(layer, mask, threads);
}

}  // namespace sparsejit::frontend
