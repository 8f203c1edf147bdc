// What a Layer owns; see layer.cc for the run path.
#pragma once

#include "pass_variants.h"
#include "sparsejit/layer.h"

namespace sparsejit {

struct Layer::Impl {
  // `conv` is resolved; null: a linear layer.
  Impl(const Mask& mask, const Conv2d* conv, const LayerOptions& options);

  // The engine that runs after checking the machine, and why if it is not the one asked for.
  bool portable() const { return !portable_reason.empty(); }

  const LayerOptions options;
  const bool linear;
  const std::shared_ptr<Runtime::Impl> runtime;
  std::string portable_reason;
  std::shared_ptr<Lowerings> lowerings;
  PassVariants variants;
  std::vector<float> zeros;  // what sums start at without a bias; one for each row or stream
};

}  // namespace sparsejit
