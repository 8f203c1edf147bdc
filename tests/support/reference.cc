// Reference loops and comparisons.
#include "support/reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace sparsejit::test {

void ReferenceSum::add(double term) {
  sum += term;
  magnitude += std::abs(term);
  ++terms;
}

double ReferenceSum::tolerance() const {
  const double k = static_cast<double>(terms + 1) * 0x1p-24;
  return k / (1 - k) * magnitude;
}

LayerReference reference_layer(const Mask& mask, int64_t batch, const LayerInputs& inputs) {
  LayerReference result;
  result.y.resize(static_cast<size_t>(batch * mask.rows()));
  result.dx.resize(static_cast<size_t>(batch * mask.cols()));
  result.d_values.resize(static_cast<size_t>(mask.nnz()));
  result.d_bias.resize(static_cast<size_t>(mask.rows()));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t row = 0; row < mask.rows(); ++row) {
      ReferenceSum& y = result.y[b * mask.rows() + row];
      const double dy = inputs.dy[b * mask.rows() + row];
      if (!inputs.bias.empty()) y.add(inputs.bias[row]);
      result.d_bias[row].add(dy);
      for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
        const int64_t x_index = b * mask.cols() + mask.columns()[i];
        const double x = inputs.x[x_index];
        y.add(x * inputs.values[i]);
        result.dx[x_index].add(dy * inputs.values[i]);
        result.d_values[i].add(dy * x);
      }
    }
  }
  return result;
}

void expect_near(std::span<const float> actual, const std::vector<ReferenceSum>& expected,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const ReferenceSum& reference = expected[i];
    const bool near = std::isnan(reference.sum)
                          ? std::isnan(actual[i])
                          : std::abs(actual[i] - reference.sum) <= reference.tolerance();
    if (near) continue;
    ADD_FAILURE() << fmt::format("{}[{}] is {}, expected {} within {}", what, i, actual[i],
                                 reference.sum, reference.tolerance());
    return;
  }
}

void expect_same_bits(std::span<const float> actual, std::span<const float> expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto actual_bits = std::bit_cast<uint32_t>(actual[i]);
    const auto expected_bits = std::bit_cast<uint32_t>(expected[i]);
    if (actual_bits == expected_bits) continue;
    ADD_FAILURE() << fmt::format("{}[{}] is {} ({:08x}), expected {} ({:08x})", what, i, actual[i],
                                 actual_bits, expected[i], expected_bits);
    return;
  }
}

}  // namespace sparsejit::test
