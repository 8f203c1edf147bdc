// See batch_norm.h. Loops are written once, over T = Vector (eight floats) and T = float for what
// is left of a plane.
//
// Compiled for AVX2: nothing here may instantiate what other files share, as the linker keeps one
// of the copies. So threads are the caller's.
#include "batch_norm.h"

#include <array>
#include <cmath>
#include <cstring>

namespace sparsejit::python {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kUnroll = 4;  // sums in flight: an addition takes four cycles

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

template <typename T>
T load(const float* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(float* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Sums over a plane of what terms.operator()<T>(position) gives, an array of kCount.
template <size_t kCount, typename Terms>
std::array<double, kCount> sums_over(int64_t length, Terms terms) {
  std::array<std::array<Vector, kCount>, kUnroll> sums{};
  std::array<float, kCount> rest{};
  const auto add = [](auto& to, const auto& what) {
    for (size_t s = 0; s < kCount; ++s) to[s] += what[s];
  };
  int64_t i = 0;
  for (; i + kUnroll * kLanes <= length; i += kUnroll * kLanes) {
    for (int64_t u = 0; u < kUnroll; ++u) {
      add(sums[static_cast<size_t>(u)], terms.template operator()<Vector>(i + u * kLanes));
    }
  }
  for (; i + kLanes <= length; i += kLanes) add(sums[0], terms.template operator()<Vector>(i));
  for (; i < length; ++i) add(rest, terms.template operator()<float>(i));
  std::array<double, kCount> total{};
  for (size_t s = 0; s < kCount; ++s) {
    total[s] = static_cast<double>(rest[s]);
    for (const auto& sum : sums) {
      for (int64_t lane = 0; lane < kLanes; ++lane) total[s] += static_cast<double>(sum[s][lane]);
    }
  }
  return total;
}

template <typename Body>
void for_each_part(int64_t length, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) body.template operator()<Vector>(i);
  for (; i < length; ++i) body.template operator()<float>(i);
}

// A channel's planes, one for each image.
struct Planes {
  const NormShape& shape;
  int64_t channel;

  int64_t offset(int64_t image) const { return (image * shape.channels + channel) * shape.pixels; }
  double count() const { return static_cast<double>(shape.images * shape.pixels); }
};

// y = x * scale + shift
struct Line {
  float scale;
  float shift;

  Line(const NormParameters& parameters, int64_t channel, float mean, float variance)
      : scale(parameters.weight[channel] / std::sqrt(variance + parameters.epsilon)),
        shift(parameters.bias[channel] - mean * scale) {}

  template <typename T>
  T at(T x) const {
    return x * scale + shift;
  }
};

void forward_channel(const Planes& planes, const NormParameters& parameters, const float* x,
                     float* y, float& mean_out, float& variance_out) {
  const NormShape& shape = planes.shape;
  double sum = 0;
  for (int64_t image = 0; image < shape.images; ++image) {
    const float* in = x + planes.offset(image);
    sum += sums_over<1>(
        shape.pixels, [&]<typename T>(int64_t i) { return std::array<T, 1>{load<T>(in + i)}; })[0];
  }
  const auto mean = static_cast<float>(sum / planes.count());
  double squares = 0;
  for (int64_t image = 0; image < shape.images; ++image) {
    const float* in = x + planes.offset(image);
    squares += sums_over<1>(shape.pixels, [&]<typename T>(int64_t i) {
      const T centered = load<T>(in + i) - mean;
      return std::array<T, 1>{centered * centered};
    })[0];
  }
  const auto variance = static_cast<float>(squares / planes.count());
  const Line line(parameters, planes.channel, mean, variance);
  for (int64_t image = 0; image < shape.images; ++image) {
    const float* in = x + planes.offset(image);
    float* out = y + planes.offset(image);
    for_each_part(shape.pixels, [&]<typename T>(int64_t i) {
      const T value = line.at(load<T>(in + i));
      // A NaN stays one, as in torch.relu.
      store<T>(out + i, parameters.relu ? (value < 0.0F ? T{} : value) : value);
    });
  }
  mean_out = mean;
  variance_out = variance;
}

struct ChannelGradients {
  double d_bias = 0;    // sum of dy
  double d_scaled = 0;  // sum of dy * (x - mean)
};

// dy where the ReLU lets it pass.
template <typename T>
T passed(T dy, T x, const Line& line, bool relu) {
  return relu ? (line.at(x) <= 0.0F ? T{} : dy) : dy;
}

ChannelGradients sum_gradients(const Planes& planes, const float* x, const float* dy, float mean,
                               const Line& line, bool relu) {
  ChannelGradients total;
  for (int64_t image = 0; image < planes.shape.images; ++image) {
    const float* in = x + planes.offset(image);
    const float* gradient = dy + planes.offset(image);
    const auto sums = sums_over<2>(planes.shape.pixels, [&]<typename T>(int64_t i) {
      const T value = load<T>(in + i);
      const T g = passed(load<T>(gradient + i), value, line, relu);
      return std::array<T, 2>{g, g * (value - mean)};
    });
    total.d_bias += sums[0];
    total.d_scaled += sums[1];
  }
  return total;
}

// With s = 1 / sqrt(variance + epsilon):
//     dx = weight * s * (dy - mean(dy) - (x - mean) * s^2 * mean(dy * (x - mean)))
void input_gradient(const Planes& planes, const float* x, const float* dy, float mean, float spread,
                    const Line& line, bool relu, const ChannelGradients& sums, float* dx) {
  const auto mean_dy = static_cast<float>(sums.d_bias / planes.count());
  const auto slope = static_cast<float>(sums.d_scaled / planes.count()) * spread * spread;
  for (int64_t image = 0; image < planes.shape.images; ++image) {
    const float* in = x + planes.offset(image);
    const float* gradient = dy + planes.offset(image);
    float* out = dx + planes.offset(image);
    for_each_part(planes.shape.pixels, [&]<typename T>(int64_t i) {
      const T value = load<T>(in + i);
      const T g = passed(load<T>(gradient + i), value, line, relu);
      store<T>(out + i, (g - mean_dy - (value - mean) * slope) * line.scale);
    });
  }
}

}  // namespace

void batch_norm_forward(const NormShape& shape, const NormParameters& parameters,
                        ChannelRange channels, const float* x, float* y, float* mean,
                        float* variance) {
  for (int64_t c = channels.begin; c < channels.end; ++c) {
    forward_channel({shape, c}, parameters, x, y, mean[c], variance[c]);
  }
}

void batch_norm_backward(const NormShape& shape, const NormParameters& parameters,
                         ChannelRange channels, const float* x, const float* dy, const float* mean,
                         const float* variance, float* dx, float* d_weight, float* d_bias) {
  for (int64_t c = channels.begin; c < channels.end; ++c) {
    const Planes planes{shape, c};
    const Line line(parameters, c, mean[c], variance[c]);
    const float spread = 1 / std::sqrt(variance[c] + parameters.epsilon);
    const ChannelGradients sums = sum_gradients(planes, x, dy, mean[c], line, parameters.relu);
    d_bias[c] = static_cast<float>(sums.d_bias);
    d_weight[c] = static_cast<float>(sums.d_scaled * static_cast<double>(spread));
    if (dx != nullptr) {
      input_gradient(planes, x, dy, mean[c], spread, line, parameters.relu, sums, dx);
    }
  }
}

}  // namespace sparsejit::python
