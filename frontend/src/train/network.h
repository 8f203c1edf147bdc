// Network: a multilayer perceptron whose hidden layers are sparse.
//
//     input -> [sparse linear, ReLU] x hidden -> dense linear -> logits
//
// Activations and their gradients are feature-major buffers allocated once, for `batch` samples;
// nothing is transposed between layers. A step with fewer samples uses their first columns.
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
#include "train/linear_product.h"
#include "train/train_options.h"

namespace sparsejit::frontend {

class Network {
 public:
  // The masks of the hidden layers are random with `sparsity`, decided by options.seed.
  // `runtime` outlives the network.
  Network(const TrainOptions& options, TrainEngine engine, double sparsity, int64_t features,
          Runtime& runtime);

  StreamMatrix& input() { return activations_.front(); }
  const StreamMatrix& logits() const { return activations_.back(); }
  StreamMatrix& d_logits() { return gradients_.back(); }

  void run_forward(int64_t samples);
  // From d_logits, after run_forward of the same samples, to the gradients of all weights.
  void run_backward(int64_t samples);
  // velocity = momentum * velocity + gradient; weight -= learning_rate * velocity.
  void update_weights(float learning_rate, float momentum);

  size_t hidden_layers() const { return layers_.size() - 1; }
  const Mask& mask(size_t layer) const { return layers_[layer].product->mask(); }
  std::span<const float> values(size_t layer) const { return layers_[layer].values; }
  std::vector<KernelReport> report(size_t layer) const { return layers_[layer].product->report(); }
  // Of the last run_backward, all positions of the layer's weight.
  std::span<const float> dense_gradient(size_t layer, int64_t samples);
  // Weights that stay keep value and momentum; new ones start with both at 0.
  MaskChange set_mask(size_t layer, const Mask& mask);

 private:
  struct Linear {
    std::unique_ptr<LinearProduct> product;
    std::vector<float> values, velocity, d_values;
    std::vector<float> bias, bias_velocity, d_bias;
  };

  static Linear make_linear(std::unique_ptr<LinearProduct> product, uint64_t seed);

  std::vector<Linear> layers_;             // the hidden ones, then the classifier
  std::vector<StreamMatrix> activations_;  // layer i reads i and writes i+1
  std::vector<StreamMatrix> gradients_;    // of activations_[i+1]
};

}  // namespace sparsejit::frontend
