// ReLU and softmax cross-entropy over feature-major streams; see activations.h. Plain loops that
// the compiler vectorises; the loss is summed in double, sample by sample.
#include "train/activations.h"

#include <algorithm>
#include <cmath>

namespace sparsejit::frontend {

void apply_relu(StreamMatrix& y, int64_t samples) {
  for (int64_t feature = 0; feature < y.features(); ++feature) {
    float* stream = y.stream(feature);
    for (int64_t i = 0; i < samples; ++i) stream[i] = stream[i] > 0.0F ? stream[i] : 0.0F;
  }
}

void apply_relu_gradient(const StreamMatrix& y, StreamMatrix& dy, int64_t samples) {
  for (int64_t feature = 0; feature < y.features(); ++feature) {
    const float* output = y.stream(feature);
    float* gradient = dy.stream(feature);
    for (int64_t i = 0; i < samples; ++i) gradient[i] = output[i] > 0.0F ? gradient[i] : 0.0F;
  }
}

LossSum softmax_cross_entropy(const StreamMatrix& logits, std::span<const uint8_t> labels,
                              StreamMatrix* d_logits) {
  const auto samples = static_cast<int64_t>(labels.size());
  const int64_t classes = logits.features();
  LossSum sum;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t label = labels[static_cast<size_t>(i)];
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (logits.stream(c)[i] > logits.stream(best)[i]) best = c;
    }
    const double top = logits.stream(best)[i];
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) total += std::exp(logits.stream(c)[i] - top);
    sum.loss += std::log(total) - (logits.stream(label)[i] - top);
    sum.correct += best == label ? 1 : 0;
    if (d_logits == nullptr) continue;
    for (int64_t c = 0; c < classes; ++c) {
      const double probability = std::exp(logits.stream(c)[i] - top) / total;
      const double target = c == label ? 1.0 : 0.0;
      d_logits->stream(c)[i] =
          static_cast<float>((probability - target) / static_cast<double>(samples));
    }
  }
  return sum;
}

}  // namespace sparsejit::frontend
