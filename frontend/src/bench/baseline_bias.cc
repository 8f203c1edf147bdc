// Loops over y and dy for the bias; see baseline_bias.h.
#include "bench/baseline_bias.h"

#include <algorithm>
#include <span>

namespace sparsejit::frontend {
namespace {

// Independent partial sums, because the compiler must not reorder a single one.
float sum_stream(const float* stream, int64_t length) {
  constexpr int64_t kPartials = 32;
  float partial[kPartials] = {};
  int64_t t = 0;
  for (; t + kPartials <= length; t += kPartials) {
    for (int64_t lane = 0; lane < kPartials; ++lane) partial[lane] += stream[t + lane];
  }
  float sum = 0;
  for (; t < length; ++t) sum += stream[t];
  for (const float lane : partial) sum += lane;
  return sum;
}

// Of images that are `streams` runs of `length` floats each: pixels of a channel, or channels of a
// pixel.
void add_to_images(Activation& y, std::span<const float> bias, Layout layout) {
  const bool by_channel = layout == Layout::feature_major;
  const int64_t streams = by_channel ? y.channels() : y.pixels();
  const int64_t length = by_channel ? y.pixels() : y.channels();
  for (int64_t image = 0; image < y.images(); ++image) {
    for (int64_t i = 0; i < streams; ++i) {
      float* stream = by_channel ? &y.at(image, i, 0) : &y.at(image, 0, i);
      for (int64_t t = 0; t < length; ++t) stream[t] += bias[by_channel ? i : t];
    }
  }
}

}  // namespace

void add_bias(Problem& problem, Layout layout) {
  add_to_images(problem.activations(layout).y, problem.bias, layout);
}

void sum_d_bias(Problem& problem, Layout layout) {
  const Activation& dy = problem.activations(layout).dy;
  std::fill(problem.d_bias.begin(), problem.d_bias.end(), 0.0F);
  for (int64_t image = 0; image < dy.images(); ++image) {
    if (layout == Layout::feature_major) {
      for (int64_t channel = 0; channel < dy.channels(); ++channel) {
        problem.d_bias[channel] += sum_stream(dy.stream(channel, image), dy.pixels());
      }
      continue;
    }
    for (int64_t pixel = 0; pixel < dy.pixels(); ++pixel) {
      const float* channels = &dy.at(image, 0, pixel);
      for (int64_t channel = 0; channel < dy.channels(); ++channel) {
        problem.d_bias[channel] += channels[channel];
      }
    }
  }
}

}  // namespace sparsejit::frontend
