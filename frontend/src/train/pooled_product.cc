// Global average pooling in front of another product: that one reads, for each channel, the mean
// over the image, and the gradient of the mean is shared out equally among the pixels.
#include "train/activations.h"
#include "train/feature_maps.h"
#include "train/product.h"

namespace sparsejit::frontend {
namespace {

class PooledProduct final : public Product {
 public:
  PooledProduct(std::unique_ptr<Product> inner, int64_t samples)
      : inner_(std::move(inner)),
        mean_(samples, inner_->mask().shape().in, {1, 1}),
        d_mean_(samples, inner_->mask().shape().in, {1, 1}) {}

  void run_forward(ConstImageView x, std::span<const float> values, std::span<const float> bias,
                   ImageView y) override {
    average_images(x, mean_.view(x.images));
    inner_->run_forward(mean_.view(x.images), values, bias, y);
  }

  void run_backward(ConstImageView x, ConstImageView y, ImageView dy, std::span<const float> values,
                    ImageView dx, std::span<float> d_values, std::span<float> d_bias) override {
    const ImageView d_mean = dx.empty() ? ImageView{} : d_mean_.view(x.images);
    inner_->run_backward(mean_.view(x.images), y, dy, values, d_mean, d_values, d_bias);
    if (!dx.empty()) spread_gradient(d_mean, dx);
  }

  std::span<const float> dense_gradient(ConstImageView x, ConstImageView y, ImageView dy) override {
    return inner_->dense_gradient(mean_.view(x.images), y, dy);
  }

  MaskChange set_mask(const Mask& mask) override { return inner_->set_mask(mask); }
  const Mask& mask() const override { return inner_->mask(); }
  std::vector<KernelReport> report() const override { return inner_->report(); }

 private:
  std::unique_ptr<Product> inner_;
  FeatureMaps mean_;  // of the last run_forward
  FeatureMaps d_mean_;
};

}  // namespace

std::unique_ptr<Product> make_pooled_product(std::unique_ptr<Product> inner, int64_t samples) {
  return std::make_unique<PooledProduct>(std::move(inner), samples);
}

}  // namespace sparsejit::frontend
