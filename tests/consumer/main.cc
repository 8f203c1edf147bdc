// The example of the README as a program of its own: one layer forward and backward, checked
// against the dense product.
#include <sparsejit/sparsejit.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace sparsejit;

int main() {
  constexpr int64_t kOut = 6;
  constexpr int64_t kIn = 5;
  constexpr int64_t kBatch = 3;
  std::vector<float> weight(kOut * kIn, 0.0F);
  for (int64_t i = 0; i < kOut * kIn; i += 4) weight[i] = 0.25F * static_cast<float>(i + 1);
  const std::vector<float> x(kBatch * kIn, 0.5F);
  const std::vector<float> dy(kBatch * kOut, 1.0F);
  const std::vector<float> bias(kOut, 2.0F);

  const Mask mask = Mask::from_nonzeros(weight, {kOut, kIn});
  std::vector<float> values;
  for (const float w : weight) {
    if (w != 0.0F) values.push_back(w);
  }
  const Layer layer = compile_layer(mask);
  std::vector<float> y(kBatch * kOut);
  std::vector<float> dx(kBatch * kIn);
  std::vector<float> d_values(values.size());
  std::vector<float> d_bias(kOut);
  const auto x_view = row_major<const float>(x.data(), kBatch, kIn);
  const auto dy_view = row_major<const float>(dy.data(), kBatch, kOut);
  layer.run_forward(x_view, values, bias, row_major(y.data(), kBatch, kOut));
  layer.run_backward(x_view, dy_view, values, row_major(dx.data(), kBatch, kIn), d_values, d_bias);

  double worst = 0;
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t o = 0; o < kOut; ++o) {
      double sum = bias[o];
      for (int64_t i = 0; i < kIn; ++i) sum += weight[o * kIn + i] * x[b * kIn + i];
      worst = std::fmax(worst, std::abs(sum - y[b * kOut + o]));
    }
  }
  for (const float gradient : d_values) worst = std::fmax(worst, std::abs(gradient - 1.5));
  for (const float gradient : d_bias) worst = std::fmax(worst, std::abs(gradient - 3.0));
  std::printf("%s\nlargest difference %g\n", layer.explain().c_str(), worst);
  return worst < 1e-5 ? 0 : 1;
}
