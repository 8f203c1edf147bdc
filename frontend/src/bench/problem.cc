// Allocation and filling of a workload's tensors; see problem.h.
#include "bench/problem.h"

#include <algorithm>
#include <limits>
#include <random>

namespace sparsejit::frontend {
namespace {

// Uniform in [-1, 1), the same on every machine for one seed.
class Uniform {
 public:
  explicit Uniform(uint64_t seed) : bits_(seed) {}
  float operator()() {
    constexpr float kStep = 1.0F / (1 << 23);
    return static_cast<float>(bits_() >> 40) * kStep - 1.0F;
  }

 private:
  std::mt19937_64 bits_;
};

Activations make_activations(const Workload& workload, Layout layout) {
  const Extents sizes = extents(workload);
  const auto make = [&](int64_t channels, ImageSize size) {
    int64_t pitch = channels;
    if (layout == Layout::feature_major) {
      pitch = workload.conv ? size.height * size.width : feature_pitch(workload);
    }
    return Activation(layout, sizes.images, channels, size, pitch);
  };
  Activations made;
  made.x = make(workload.in, sizes.input);
  made.dx = make(workload.in, sizes.input);
  made.y = make(workload.out, sizes.output);
  made.dy = make(workload.out, sizes.output);
  return made;
}

// Channel by channel, the same numbers in both; `copy` may be empty.
void fill_both(Activation& original, Activation& copy, Uniform& uniform) {
  for (int64_t channel = 0; channel < original.channels(); ++channel) {
    for (int64_t image = 0; image < original.images(); ++image) {
      for (int64_t pixel = 0; pixel < original.pixels(); ++pixel) {
        const float number = uniform();
        original.at(image, channel, pixel) = number;
        if (!copy.empty()) copy.at(image, channel, pixel) = number;
      }
    }
  }
}

void fill(std::vector<float>& floats, int64_t count, Uniform& uniform) {
  floats.resize(static_cast<size_t>(count));
  std::generate(floats.begin(), floats.end(), std::ref(uniform));
}

// Nothing to do for an empty one.
void poison(Activation& activation) {
  for (int64_t image = 0; image < activation.images(); ++image) {
    for (int64_t channel = 0; channel < activation.channels(); ++channel) {
      for (int64_t pixel = 0; pixel < activation.pixels(); ++pixel) {
        activation.at(image, channel, pixel) = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
}

}  // namespace

Activation::Activation(Layout layout, int64_t images, int64_t channels, ImageSize size,
                       int64_t pitch)
    : images_(images), channels_(channels), size_(size), pitch_(pitch) {
  const bool by_channel = layout == Layout::feature_major;
  channel_stride_ = by_channel ? pitch : 1;
  pixel_stride_ = by_channel ? 1 : pitch;
  image_stride_ = pitch * (by_channel ? channels : pixels());
  data_ = allocate_floats(images * image_stride_);
}

TensorView Activation::view() {
  return {data_.get(), pixels(), channels_, pixel_stride_, channel_stride_};
}

ImageView Activation::image_view() {
  return {data_.get(),  images_,       channels_,       size_.height,
          size_.width,  image_stride_, channel_stride_, size_.width * pixel_stride_,
          pixel_stride_};
}

std::span<const float> Problem::bias_if_used() const {
  return workload.bias ? std::span<const float>(bias) : std::span<const float>();
}

std::span<float> Problem::d_bias_if_used() {
  return workload.bias ? std::span<float>(d_bias) : std::span<float>();
}

Problem make_problem(const Workload& workload) {
  Problem problem;
  problem.workload = workload;
  problem.mask = workload.mask
                     ? *workload.mask
                     : Mask::random(weight_shape(workload), workload.sparsity, workload.seed);
  Uniform uniform(workload.seed);
  fill(problem.values, problem.mask.nnz(), uniform);
  fill(problem.bias, workload.out, uniform);
  problem.d_values.resize(problem.values.size());
  problem.d_bias.resize(problem.bias.size());
  problem.feature_major = make_activations(workload, Layout::feature_major);
  if (!workload.conv || workload.layout == Layout::row_major) {
    problem.row_major = make_activations(workload, Layout::row_major);
  }
  fill_both(problem.feature_major.x, problem.row_major.x, uniform);
  fill_both(problem.feature_major.dy, problem.row_major.dy, uniform);
  return problem;
}

AlignedFloats make_dense_weight(const Problem& problem) {
  const Mask& mask = problem.mask;
  AlignedFloats weight = allocate_floats(mask.rows() * mask.cols());
  for (int64_t row = 0; row < mask.rows(); ++row) {
    for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
      weight[row * mask.cols() + mask.columns()[i]] = problem.values[i];
    }
  }
  return weight;
}

void gather_d_values(Problem& problem, const float* d_weight) {
  const Mask& mask = problem.mask;
  for (int64_t row = 0; row < mask.rows(); ++row) {
    for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
      problem.d_values[i] = d_weight[row * mask.cols() + mask.columns()[i]];
    }
  }
}

void poison_outputs(Problem& problem) {
  for (const Layout layout : {Layout::feature_major, Layout::row_major}) {
    poison(problem.activations(layout).y);
    poison(problem.activations(layout).dx);
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::fill(problem.d_values.begin(), problem.d_values.end(), kNan);
  std::fill(problem.d_bias.begin(), problem.d_bias.end(), kNan);
}

}  // namespace sparsejit::frontend
