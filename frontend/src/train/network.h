// Network: a chain of layers, linear or convolutions, whose hidden ones are sparse; which ones
// there are says architecture.h.
//
// Activations and their gradients are FeatureMaps allocated once, for `batch` samples; nothing is
// transposed between layers. A step with fewer samples uses the first images.
// The weights of a layer are one vector of stored values; momentum is another, and follows its
// weight when a mask changes. The optimizer sees stored weights only: what is not stored stays 0.
//
// Weights start uniform in +-sqrt(6 / fan-in), He's variance 2 / fan-in, where the fan-in is the
// number of weights the unit's row really stores. Biases start at 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "matrix.h"
#include "sparsejit/sparsejit.h"
#include "train/architecture.h"
#include "train/feature_maps.h"
#include "train/product.h"
#include "train/train_options.h"

namespace sparsejit::frontend {

class Network {
 public:
  // The masks of the pruned layers are random with `sparsity`, decided by options.seed. `image` is
  // the size of the data's images; `runtime` outlives the network.
  Network(const TrainOptions& options, TrainEngine engine, double sparsity, ImageSize image,
          Runtime& runtime);

  StreamMatrix& input() { return activations_.front().streams; }
  const StreamMatrix& logits() const { return activations_.back().streams; }
  StreamMatrix& d_logits() { return gradients_.back().streams; }

  void run_forward(int64_t samples);
  // From d_logits, after run_forward of the same samples, to the gradients of all weights.
  void run_backward(int64_t samples);
  // velocity = momentum * velocity + gradient; weight -= learning_rate * velocity.
  void update_weights(float learning_rate, float momentum);

  // All but the classifier, which is the last.
  size_t hidden_layers() const { return layers_.size() - 1; }
  const LayerSpec& spec(size_t layer) const { return layers_[layer].spec; }
  const Mask& mask(size_t layer) const { return layers_[layer].product->mask(); }
  std::span<const float> values(size_t layer) const { return layers_[layer].values; }
  std::span<float> values(size_t layer) { return layers_[layer].values; }
  std::vector<KernelReport> report(size_t layer) const { return layers_[layer].product->report(); }
  // Of the last run_backward: of the stored weights, and of all positions of the layer's weight.
  std::span<const float> d_values(size_t layer) const { return layers_[layer].d_values; }
  std::span<const float> dense_gradient(size_t layer, int64_t samples);
  // Weights that stay keep value and momentum; new ones start with both at 0.
  MaskChange set_mask(size_t layer, const Mask& mask);

 private:
  struct TrainedLayer {
    LayerSpec spec;
    std::unique_ptr<Product> product;
    std::vector<float> values, velocity, d_values;
    std::vector<float> bias, bias_velocity, d_bias;
  };

  static TrainedLayer make_layer(const LayerSpec& spec, std::unique_ptr<Product> product,
                                 uint64_t seed);

  std::vector<TrainedLayer> layers_;      // the hidden ones, then the classifier
  std::vector<FeatureMaps> activations_;  // layer i reads i and writes i+1
  std::vector<FeatureMaps> gradients_;    // of activations_[i+1]
};

}  // namespace sparsejit::frontend
