// Builds the layers, runs them in order and applies SGD with momentum; see network.h. Everything
// here is the same for all engines and kinds of layers; what differs is behind Product.
#include "train/network.h"

#include <algorithm>
#include <cmath>

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

std::unique_ptr<Product> make_hidden_product(const LayerSpec& layer, const Mask& mask,
                                             TrainEngine engine, Runtime& runtime) {
  if (engine == TrainEngine::dense) return make_dense_product(layer, mask, runtime.threads());
  LayerOptions options;
  options.engine = layer_engine(engine);
  options.runtime = &runtime;
  return make_sparse_product(layer, mask, options);
}

std::unique_ptr<Product> make_classifier(const LayerSpec& layer, const Mask& mask,
                                         int64_t samples) {
  std::unique_ptr<Product> product = make_dense_product(layer, mask, 1);
  if (layer.input == ImageSize{}) return product;
  return make_pooled_product(std::move(product), samples);
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

Network::Network(const TrainOptions& options, TrainEngine engine, double sparsity, ImageSize image,
                 Runtime& runtime) {
  const std::vector<LayerSpec> specs = plan_layers(options, image);
  activations_.emplace_back(options.batch, specs.front().shape.in, specs.front().input);
  for (size_t i = 0; i < specs.size(); ++i) {
    const LayerSpec& spec = specs[i];
    const uint64_t mask_seed = mix_seed(options.seed, Purpose::mask, i);
    const Mask mask = Mask::random(spec.shape, spec.pruned ? sparsity : 0.0, mask_seed);
    const bool classifier = i + 1 == specs.size();
    layers_.push_back(make_layer(spec,
                                 classifier ? make_classifier(spec, mask, options.batch)
                                            : make_hidden_product(spec, mask, engine, runtime),
                                 mix_seed(options.seed, Purpose::values, i)));
    activations_.emplace_back(options.batch, spec.shape.out, spec.output);
    gradients_.emplace_back(options.batch, spec.shape.out, spec.output);
  }
}

Network::TrainedLayer Network::make_layer(const LayerSpec& spec, std::unique_ptr<Product> product,
                                          uint64_t seed) {
  const auto stored = static_cast<size_t>(product->mask().nnz());
  const auto rows = static_cast<size_t>(product->mask().rows());
  TrainedLayer layer;
  layer.spec = spec;
  layer.values = initial_values(product->mask(), seed);
  layer.velocity.resize(stored);
  layer.d_values.resize(stored);
  layer.bias.resize(rows);
  layer.bias_velocity.resize(rows);
  layer.d_bias.resize(rows);
  layer.product = std::move(product);
  return layer;
}

void Network::run_forward(int64_t samples) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].product->run_forward(std::as_const(activations_[i]).view(samples), layers_[i].values,
                                    layers_[i].bias, activations_[i + 1].view(samples));
  }
}

void Network::run_backward(int64_t samples) {
  for (size_t i = layers_.size(); i-- > 0;) {
    TrainedLayer& layer = layers_[i];
    const ImageView dx = i == 0 ? ImageView{} : gradients_[i - 1].view(samples);
    layer.product->run_backward(std::as_const(activations_[i]).view(samples),
                                std::as_const(activations_[i + 1]).view(samples),
                                gradients_[i].view(samples), layer.values, dx, layer.d_values,
                                layer.d_bias);
  }
}

void Network::update_weights(float learning_rate, float momentum) {
  for (TrainedLayer& layer : layers_) {
    descend(layer.values, layer.velocity, layer.d_values, learning_rate, momentum);
    descend(layer.bias, layer.bias_velocity, layer.d_bias, learning_rate, momentum);
  }
}

std::span<const float> Network::dense_gradient(size_t layer, int64_t samples) {
  return layers_[layer].product->dense_gradient(
      std::as_const(activations_[layer]).view(samples),
      std::as_const(activations_[layer + 1]).view(samples), gradients_[layer].view(samples));
}

MaskChange Network::set_mask(size_t layer, const Mask& mask) {
  TrainedLayer& trained = layers_[layer];
  MaskChange change = trained.product->set_mask(mask);
  if (!change.changed()) return change;
  trained.values = change.move(trained.values);
  trained.velocity = change.move(trained.velocity);
  trained.d_values.resize(trained.values.size());
  return change;
}

}  // namespace sparsejit::frontend
