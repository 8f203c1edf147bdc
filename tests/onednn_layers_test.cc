// Sparse layers on the native engine equal oneDNN with the same weights, on every distinct layer of
// ResNet-18 and ResNet-50 at 95% sparsity: forward and both gradients.
//
// The norm is that of bench/reference.h: an error is relative to the sum of the magnitudes of the
// terms, which oneDNN computes too, from the absolute values of all inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/contender.h"
#include "bench/suite.h"
#include "dense_conv.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

// Sums have up to 25,000 terms in either's own order. One term is 4e-5 of such a sum, and far more
// of the shorter ones.
constexpr double kRounding = 1e-5;

// All distinct layers; two images where they are small, so that images follow one another.
std::vector<Workload> list_layers() {
  std::vector<Workload> layers;
  for (const Suite suite : {Suite::resnet18, Suite::resnet50}) {
    for (Workload layer : list_network(suite, 1, 0.95)) {
      layer.batch = layer.conv && layer.conv->image.height > 28 ? 1 : 2;
      layer.layout = layer.conv ? Layout::feature_major : Layout::row_major;
      layer.want_dx = true;
      layer.occurrences = 1;
      if (std::find(layers.begin(), layers.end(), layer) == layers.end()) layers.push_back(layer);
    }
  }
  return layers;
}

struct Outputs {
  std::vector<float> y;
  std::vector<float> dx;
  std::vector<float> d_weight;
};

int64_t floats(const Activation& activation) {
  return activation.images() * activation.channels() * activation.pixels();
}

std::vector<float> absolute(const float* numbers, int64_t count) {
  std::vector<float> result(numbers, numbers + count);
  for (float& number : result) number = std::abs(number);
  return result;
}

// A linear layer is a convolution of images of one pixel, whose samples lie as in row_major.
DenseConvShape dense_shape(const Workload& workload) {
  const ConvGeometry geometry = workload.conv.value_or(ConvGeometry{});
  return {workload.batch, weight_shape(workload), geometry.conv, geometry.image, false, true};
}

Outputs run_dense(DenseConv& conv, const Problem& problem, const float* x, const float* dy,
                  const float* weight) {
  conv.set_inputs(x, dy, weight, nullptr);
  conv.poison_outputs();
  conv.run_forward();
  conv.run_backward();
  const Workload& workload = problem.workload;
  const Activations& tensors = workload.conv ? problem.feature_major : problem.row_major;
  Outputs outputs;
  outputs.y.resize(static_cast<size_t>(floats(tensors.y)));
  outputs.dx.resize(static_cast<size_t>(floats(tensors.dx)));
  outputs.d_weight.resize(static_cast<size_t>(problem.mask.rows() * problem.mask.cols()));
  conv.get_y(outputs.y.data());
  conv.get_dx(outputs.dx.data());
  conv.get_d_weight(outputs.d_weight.data());
  return outputs;
}

double largest_error(const float* seen, const std::vector<float>& expected,
                     const std::vector<float>& magnitude) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(seen[i]) - expected[i]);
    if (difference == 0) continue;
    const double error = difference / magnitude[i];
    if (!(error <= largest)) largest = error;  // also when it is NaN
  }
  return largest;
}

std::vector<float> stored_gradients(Problem& problem, const std::vector<float>& d_weight) {
  gather_d_values(problem, d_weight.data());
  return problem.d_values;
}

void expect_native_matches_dense(const Workload& workload, Runtime& runtime) {
  Problem problem = make_problem(workload);
  Activations& tensors = problem.activations(workload.layout);
  poison_outputs(problem);
  const Layer layer = make_layer(problem, Engine::native, runtime);
  for (const Pass pass : kBothPasses) {
    run_layer(layer, problem, pass);
    ASSERT_EQ(engine_of(find_report(layer, workload, pass)), Engine::native);
  }
  const std::vector<float> d_values = problem.d_values;

  DenseConv conv(dense_shape(workload), 1);
  const AlignedFloats weight = make_dense_weight(problem);
  const int64_t weights = problem.mask.rows() * problem.mask.cols();
  const Outputs expected =
      run_dense(conv, problem, tensors.x.data(), tensors.dy.data(), weight.get());
  const Outputs magnitude =
      run_dense(conv, problem, absolute(tensors.x.data(), floats(tensors.x)).data(),
                absolute(tensors.dy.data(), floats(tensors.dy)).data(),
                absolute(weight.get(), weights).data());
  EXPECT_LE(largest_error(tensors.y.data(), expected.y, magnitude.y), kRounding);
  EXPECT_LE(largest_error(tensors.dx.data(), expected.dx, magnitude.dx), kRounding);
  EXPECT_LE(largest_error(d_values.data(), stored_gradients(problem, expected.d_weight),
                          stored_gradients(problem, magnitude.d_weight)),
            kRounding);
}

TEST(OneDnnLayers, NativeMatchesOnEveryLayerOfTheResNets) {
  Runtime runtime(with_threads(1));
  if (!runtime.machine().avx2_fma) GTEST_SKIP() << "needs AVX2 and FMA";
  const std::vector<Workload> layers = list_layers();
  EXPECT_GT(layers.size(), 30U);
  for (const Workload& workload : layers) {
    SCOPED_TRACE(layer_text(workload));
    expect_native_matches_dense(workload, runtime);
  }
}

}  // namespace
}  // namespace sparsejit::test
