// Loops over y and dy for the bias; see baseline_bias.h.
#include "bench/baseline_bias.h"

#include <algorithm>

namespace sparsejit::frontend {
namespace {

// Independent partial sums, because the compiler must not reorder a single one.
void sum_streams(const Activation& activation, int64_t batch, std::vector<float>& sums) {
  constexpr int64_t kPartials = 32;
  for (size_t feature = 0; feature < sums.size(); ++feature) {
    const float* stream = activation.stream(static_cast<int64_t>(feature));
    float partial[kPartials] = {};
    int64_t t = 0;
    for (; t + kPartials <= batch; t += kPartials) {
      for (int64_t lane = 0; lane < kPartials; ++lane) partial[lane] += stream[t + lane];
    }
    float sum = 0;
    for (; t < batch; ++t) sum += stream[t];
    for (const float lane : partial) sum += lane;
    sums[feature] = sum;
  }
}

void sum_samples(const Activation& activation, int64_t batch, std::vector<float>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0F);
  for (int64_t sample = 0; sample < batch; ++sample) {
    const float* features = activation.data() + sample * activation.pitch();
    for (size_t feature = 0; feature < sums.size(); ++feature) sums[feature] += features[feature];
  }
}

}  // namespace

void add_bias(Problem& problem, Layout layout) {
  Activation& y = problem.activations(layout).y;
  const bool by_feature = layout == Layout::feature_major;
  const int64_t streams = by_feature ? problem.workload.out : problem.workload.batch;
  const int64_t length = by_feature ? problem.workload.batch : problem.workload.out;
  for (int64_t i = 0; i < streams; ++i) {
    float* stream = y.data() + i * y.pitch();
    for (int64_t t = 0; t < length; ++t) stream[t] += problem.bias[by_feature ? i : t];
  }
}

void sum_d_bias(Problem& problem, Layout layout) {
  Activation& dy = problem.activations(layout).dy;
  const auto sum = layout == Layout::feature_major ? sum_streams : sum_samples;
  sum(dy, problem.workload.batch, problem.d_bias);
}

}  // namespace sparsejit::frontend
