// Loops over the streams of feature maps, which the compiler vectorises; see activations.h. The
// loss is summed in double, sample by sample.
#include "train/activations.h"

#include <algorithm>
#include <cmath>

namespace sparsejit::frontend {

namespace {

// Independent partial sums, so that the loop runs in vector registers.
constexpr int64_t kLanes = 16;

int64_t channel_floats(ConstImageView view) { return view.images * view.height * view.width; }

float sum_of(const float* values, int64_t count) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  float sum = 0.0F;
  for (const float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace

void add_bias(std::span<const float> bias, ImageView y) {
  for (int64_t channel = 0; channel < y.channels; ++channel) {
    float* values = y.data + channel * y.channel_stride;
    const float start = bias[static_cast<size_t>(channel)];
    for (int64_t i = 0; i < channel_floats(y); ++i) values[i] += start;
  }
}

void sum_channels(ConstImageView dy, std::span<float> sums) {
  for (int64_t channel = 0; channel < dy.channels; ++channel) {
    sums[static_cast<size_t>(channel)] =
        sum_of(dy.data + channel * dy.channel_stride, channel_floats(dy));
  }
}

void apply_relu(ImageView y) {
  for (int64_t channel = 0; channel < y.channels; ++channel) {
    float* values = y.data + channel * y.channel_stride;
    for (int64_t i = 0; i < channel_floats(y); ++i)
      values[i] = values[i] <= 0.0F ? 0.0F : values[i];
  }
}

void apply_relu_gradient(ConstImageView y, ImageView dy) {
  for (int64_t channel = 0; channel < y.channels; ++channel) {
    const float* output = y.data + channel * y.channel_stride;
    float* gradient = dy.data + channel * dy.channel_stride;
    for (int64_t i = 0; i < channel_floats(y); ++i) {
      gradient[i] = output[i] <= 0.0F ? 0.0F : gradient[i];
    }
  }
}

void average_images(ConstImageView x, ImageView mean) {
  const int64_t pixels = x.height * x.width;
  const float share = 1.0F / static_cast<float>(pixels);
  for (int64_t channel = 0; channel < x.channels; ++channel) {
    const float* image = x.data + channel * x.channel_stride;
    float* out = mean.data + channel * mean.channel_stride;
    for (int64_t i = 0; i < x.images; ++i, image += pixels) out[i] = sum_of(image, pixels) * share;
  }
}

void spread_gradient(ConstImageView d_mean, ImageView dx) {
  const int64_t pixels = dx.height * dx.width;
  const float share = 1.0F / static_cast<float>(pixels);
  for (int64_t channel = 0; channel < dx.channels; ++channel) {
    const float* from = d_mean.data + channel * d_mean.channel_stride;
    float* image = dx.data + channel * dx.channel_stride;
    for (int64_t i = 0; i < dx.images; ++i, image += pixels) {
      std::fill(image, image + pixels, from[i] * share);
    }
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
