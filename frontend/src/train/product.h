// LinearProduct: the products of one linear layer, y = W x + b and its gradients, behind one
// interface, so that every engine trains with the very same optimizer and pruning code.
//
//     sparse  sparsejit::Layer: touches the stored weights only
//     dense   OpenBLAS on W with zeros where nothing is stored: the baseline to compare with,
//             and the classifier of every network (its mask is full)
//
// Whoever owns a product keeps the weights as the mask's values. The dense product scatters them
// into W before each forward pass and gathers the stored entries of the full gradient: two copies,
// cheap next to its products, and in its favour, as momentum and update stay on stored weights.
//
// All tensors are feature-major. Results do not depend on the number of threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sparsejit/sparsejit.h"

namespace sparsejit::frontend {

class LinearProduct {
 public:
  virtual ~LinearProduct() = default;

  virtual void run_forward(ConstTensorView x, std::span<const float> values,
                           std::span<const float> bias, TensorView y) = 0;
  // For the values of the last run_forward. dx may be empty.
  virtual void run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> values,
                            TensorView dx, std::span<float> d_values, std::span<float> d_bias) = 0;
  // The gradient of all rows*cols positions, row-major, for the tensors of the last run_backward.
  // Valid until the next call.
  virtual std::span<const float> dense_gradient(ConstTensorView x, ConstTensorView dy) = 0;

  virtual MaskChange set_mask(const Mask& mask) = 0;
  virtual const Mask& mask() const = 0;
  virtual std::vector<KernelReport> report() const = 0;  // empty for dense
};

std::unique_ptr<LinearProduct> make_sparse_product(const Mask& mask, const LayerOptions& options);
// OpenBLAS uses `threads` threads inside this product's calls.
std::unique_ptr<LinearProduct> make_dense_product(const Mask& mask, int threads);

}  // namespace sparsejit::frontend
