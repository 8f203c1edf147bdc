// Problem: the tensors of one workload, filled with random numbers, and its mask.
//
// Inputs (x, dy) exist in both layouts with the same numbers, because the baselines run on the
// layout that suits them; every engine writes its outputs to the buffers of the layout it ran on.
// Engines take turns on one Problem, so they see the same addresses. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/workload.h"
#include "matrix.h"
#include "sparsejit/layer.h"

namespace sparsejit::frontend {

// One (batch x features) tensor and the memory behind it.
class Activation {
 public:
  Activation() = default;
  Activation(Layout layout, int64_t batch, int64_t features, int64_t pitch);

  TensorView view();
  int64_t pitch() const { return pitch_; }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  // Feature-major only: the consecutive samples of one feature.
  const float* stream(int64_t feature) const { return data() + feature * pitch_; }
  float& at(int64_t sample, int64_t feature);

 private:
  Layout layout_ = Layout::feature_major;
  int64_t batch_ = 0;
  int64_t features_ = 0;
  int64_t pitch_ = 0;
  AlignedFloats data_;
};

// What a layer reads and writes, in one layout.
struct Activations {
  Activation x;
  Activation dy;
  Activation y;
  Activation dx;
};

struct Problem {
  Workload workload;
  Mask mask;
  std::vector<float> values;    // nnz
  std::vector<float> bias;      // out
  std::vector<float> d_values;  // nnz
  std::vector<float> d_bias;    // out
  Activations feature_major;
  Activations row_major;

  Activations& activations(Layout layout) {
    return layout == Layout::feature_major ? feature_major : row_major;
  }
  // Empty unless the workload has a bias, which is what Layer expects.
  std::span<const float> bias_if_used() const;
  std::span<float> d_bias_if_used();
  // Empty unless the workload wants dx.
  TensorView dx_if_used(Layout layout);
};

Problem make_problem(const Workload& workload);

// The weights as a dense row-major (out x in) matrix, zero where nothing is stored.
AlignedFloats make_dense_weight(const Problem& problem);

// Fills every output with NaN, so that a result nobody wrote cannot pass for a right one.
void poison_outputs(Problem& problem);

}  // namespace sparsejit::frontend
