// The naive layer every engine is compared with: plain loops over the dense weight, in double.
//
// Tolerance: each reference entry carries the sum of the magnitudes of its terms and their number
// k. A float32 sum of k products, in any order, with or without fused multiply-add, is off by at
// most k u / (1 - k u) times that magnitude, u = 2^-24 (Higham, Accuracy and Stability of
// Numerical Algorithms, section 3.1). The check allows exactly that, for one term more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sparsejit/mask.h"

namespace sparsejit::test {

// A sum in double and what a float32 evaluation of it may be off by.
struct ReferenceSum {
  double sum = 0;
  double magnitude = 0;
  int64_t terms = 0;

  void add(double term);
  double tolerance() const;
};

// Row-major arrays; values and d_values are numbered as the mask numbers them.
struct LayerInputs {
  std::vector<float> x;       // (batch, cols)
  std::vector<float> dy;      // (batch, rows)
  std::vector<float> values;  // nnz
  std::vector<float> bias;    // rows, or empty
};

struct LayerReference {
  std::vector<ReferenceSum> y;         // (batch, rows)
  std::vector<ReferenceSum> dx;        // (batch, cols)
  std::vector<ReferenceSum> d_values;  // nnz
  std::vector<ReferenceSum> d_bias;    // rows
};

LayerReference reference_layer(const Mask& mask, int64_t batch, const LayerInputs& inputs);

// `what` names the array in the failure. NaN is expected exactly where the reference is NaN.
void expect_near(std::span<const float> actual, const std::vector<ReferenceSum>& expected,
                 const std::string& what);

// Reports the first differing bit pattern; NaNs are equal to themselves.
void expect_same_bits(std::span<const float> actual, std::span<const float> expected,
                      const std::string& what);

}  // namespace sparsejit::test
