// Builds the layers, runs them in order and applies SGD with momentum; see network.h. Everything
// here is the same for all engines; what differs is behind LinearProduct.
#include "train/network.h"

#include <algorithm>
#include <cmath>

#include "train/activations.h"
#include "train/random.h"

namespace sparsejit::frontend {
namespace {

Engine layer_engine(TrainEngine engine) {
  switch (engine) {
    case TrainEngine::jit:
      return Engine::native;
    case TrainEngine::interpreted:
      return Engine::interpreted;
    case TrainEngine::automatic:
    case TrainEngine::dense:
      break;
  }
  return Engine::automatic;
}

std::unique_ptr<LinearProduct> make_hidden_product(const Mask& mask, TrainEngine engine,
                                                   Runtime& runtime) {
  if (engine == TrainEngine::dense) return make_dense_product(mask, runtime.threads());
  LayerOptions options;
  options.engine = layer_engine(engine);
  options.runtime = &runtime;
  return make_sparse_product(mask, options);
}

std::vector<float> initial_values(const Mask& mask, uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(mask.nnz()));
  for (size_t row = 0; row < static_cast<size_t>(mask.rows()); ++row) {
    const int64_t fan_in = mask.row_begin()[row + 1] - mask.row_begin()[row];
    const float limit = std::sqrt(6.0F / static_cast<float>(std::max<int64_t>(fan_in, 1)));
    for (int64_t i = 0; i < fan_in; ++i) values.push_back(random.symmetric(limit));
  }
  return values;
}

void descend(std::span<float> weights, std::span<float> velocity, std::span<const float> gradient,
             float learning_rate, float momentum) {
  for (size_t i = 0; i < weights.size(); ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    weights[i] -= learning_rate * velocity[i];
  }
}

}  // namespace

Network::Network(const TrainOptions& options, TrainEngine engine, double sparsity, int64_t features,
                 Runtime& runtime) {
  int64_t inputs = features;
  activations_.emplace_back(options.batch, features);
  std::vector<int64_t> widths = options.hidden;
  widths.push_back(options.classes);
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool classifier = i + 1 == widths.size();
    const MaskShape shape{widths[i], inputs};
    const uint64_t mask_seed = mix_seed(options.seed, Purpose::mask, i);
    const Mask mask = Mask::random(shape, classifier ? 0.0 : sparsity, mask_seed);
    layers_.push_back(make_linear(
        classifier ? make_dense_product(mask, 1) : make_hidden_product(mask, engine, runtime),
        mix_seed(options.seed, Purpose::values, i)));
    activations_.emplace_back(options.batch, widths[i]);
    gradients_.emplace_back(options.batch, widths[i]);
    inputs = widths[i];
  }
}

Network::Linear Network::make_linear(std::unique_ptr<LinearProduct> product, uint64_t seed) {
  const auto stored = static_cast<size_t>(product->mask().nnz());
  const auto rows = static_cast<size_t>(product->mask().rows());
  Linear linear;
  linear.values = initial_values(product->mask(), seed);
  linear.velocity.resize(stored);
  linear.d_values.resize(stored);
  linear.bias.resize(rows);
  linear.bias_velocity.resize(rows);
  linear.d_bias.resize(rows);
  linear.product = std::move(product);
  return linear;
}

void Network::run_forward(int64_t samples) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const StreamMatrix& x = activations_[i];
    StreamMatrix& y = activations_[i + 1];
    layers_[i].product->run_forward(x.view(samples), layers_[i].values, layers_[i].bias,
                                    y.view(samples));
    if (i + 1 < layers_.size()) apply_relu(y, samples);
  }
}

void Network::run_backward(int64_t samples) {
  for (size_t i = layers_.size(); i-- > 0;) {
    Linear& linear = layers_[i];
    StreamMatrix& dy = gradients_[i];
    if (i + 1 < layers_.size()) apply_relu_gradient(activations_[i + 1], dy, samples);
    const TensorView dx = i == 0 ? TensorView{} : gradients_[i - 1].view(samples);
    linear.product->run_backward(std::as_const(activations_[i]).view(samples), dy.view(samples),
                                 linear.values, dx, linear.d_values, linear.d_bias);
  }
}

void Network::update_weights(float learning_rate, float momentum) {
  for (Linear& linear : layers_) {
    descend(linear.values, linear.velocity, linear.d_values, learning_rate, momentum);
    descend(linear.bias, linear.bias_velocity, linear.d_bias, learning_rate, momentum);
  }
}

std::span<const float> Network::dense_gradient(size_t layer, int64_t samples) {
  return layers_[layer].product->dense_gradient(activations_[layer].view(samples),
                                                gradients_[layer].view(samples));
}

MaskChange Network::set_mask(size_t layer, const Mask& mask) {
  Linear& linear = layers_[layer];
  MaskChange change = linear.product->set_mask(mask);
  if (!change.changed()) return change;
  linear.values = change.move(linear.values);
  linear.velocity = change.move(linear.velocity);
  linear.d_values.resize(linear.values.size());
  return change;
}

}  // namespace sparsejit::frontend
