// Product: the products of one layer, y = W x + b, with a ReLU or without, and their gradients,
// behind one interface, so that linear layers and convolutions train on every engine with the very
// same optimizer and pruning code.
//
//     sparse  sparsejit::Layer: touches the stored weights only
//     dense   OpenBLAS on W with zeros where nothing is stored: the baseline to compare with,
//             and the classifier of every network (its mask is full)
//     pooled  another product on the mean of each channel
//
// Whoever owns a product keeps the weights as the mask's values. The dense product scatters them
// into W before each forward pass and gathers the stored entries of the full gradient: two copies,
// cheap next to its products, and in its favour, as momentum and update stay on stored weights.
//
// All tensors are views of FeatureMaps. Results do not depend on the number of threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sparsejit/sparsejit.h"
#include "train/architecture.h"

namespace sparsejit::frontend {

class Product {
 public:
  virtual ~Product() = default;

  virtual void run_forward(ConstImageView x, std::span<const float> values,
                           std::span<const float> bias, ImageView y) = 0;
  // For the values of the last run_forward, which wrote y. dx may be empty. dy is scratch: where
  // the ReLU was shut it may become 0.
  virtual void run_backward(ConstImageView x, ConstImageView y, ImageView dy,
                            std::span<const float> values, ImageView dx, std::span<float> d_values,
                            std::span<float> d_bias) = 0;
  // The gradient of all rows*cols positions, row-major, for the tensors of the last run_backward.
  // Valid until the next call.
  virtual std::span<const float> dense_gradient(ConstImageView x, ConstImageView y,
                                                ImageView dy) = 0;

  virtual MaskChange set_mask(const Mask& mask) = 0;
  virtual const Mask& mask() const = 0;
  virtual std::vector<KernelReport> report() const = 0;  // empty for dense
};

// `options` names engine and runtime.
std::unique_ptr<Product> make_sparse_product(const LayerSpec& layer, const Mask& mask,
                                             LayerOptions options);
// OpenBLAS uses `threads` threads inside this product's calls.
std::unique_ptr<Product> make_dense_product(const LayerSpec& layer, const Mask& mask, int threads);
// `inner` reads the mean over each image; `samples` is the most of one call.
std::unique_ptr<Product> make_pooled_product(std::unique_ptr<Product> inner, int64_t samples);

}  // namespace sparsejit::frontend
