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
  const bool by_feature = layout == Layout::feature_major;
  const int64_t in_pitch = by_feature ? feature_pitch(workload) : workload.in;
  const int64_t out_pitch = by_feature ? feature_pitch(workload) : workload.out;
  Activations made;
  made.x = Activation(layout, workload.batch, workload.in, in_pitch);
  made.dx = Activation(layout, workload.batch, workload.in, in_pitch);
  made.y = Activation(layout, workload.batch, workload.out, out_pitch);
  made.dy = Activation(layout, workload.batch, workload.out, out_pitch);
  return made;
}

void fill_both(Activation& left, Activation& right, int64_t batch, int64_t features,
               Uniform& uniform) {
  for (int64_t feature = 0; feature < features; ++feature) {
    for (int64_t sample = 0; sample < batch; ++sample) {
      const float number = uniform();
      left.at(sample, feature) = number;
      right.at(sample, feature) = number;
    }
  }
}

void fill(std::vector<float>& floats, int64_t count, Uniform& uniform) {
  floats.resize(static_cast<size_t>(count));
  std::generate(floats.begin(), floats.end(), std::ref(uniform));
}

void poison(Activation& activation, int64_t batch, int64_t features) {
  for (int64_t sample = 0; sample < batch; ++sample) {
    for (int64_t feature = 0; feature < features; ++feature) {
      activation.at(sample, feature) = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

}  // namespace

Activation::Activation(Layout layout, int64_t batch, int64_t features, int64_t pitch)
    : layout_(layout),
      batch_(batch),
      features_(features),
      pitch_(pitch),
      data_(allocate_floats(pitch * (layout == Layout::feature_major ? features : batch))) {}

TensorView Activation::view() {
  return layout_ == Layout::feature_major
             ? sparsejit::feature_major(data_.get(), batch_, features_, pitch_)
             : sparsejit::row_major(data_.get(), batch_, features_, pitch_);
}

float& Activation::at(int64_t sample, int64_t feature) {
  return layout_ == Layout::feature_major ? data_[feature * pitch_ + sample]
                                          : data_[sample * pitch_ + feature];
}

std::span<const float> Problem::bias_if_used() const {
  return workload.bias ? std::span<const float>(bias) : std::span<const float>();
}

std::span<float> Problem::d_bias_if_used() {
  return workload.bias ? std::span<float>(d_bias) : std::span<float>();
}

TensorView Problem::dx_if_used(Layout layout) {
  return workload.want_dx ? activations(layout).dx.view() : TensorView{};
}

Problem make_problem(const Workload& workload) {
  Problem problem;
  problem.workload = workload;
  problem.mask = Mask::random({workload.out, workload.in}, workload.sparsity, workload.seed);
  Uniform uniform(workload.seed);
  fill(problem.values, problem.mask.nnz(), uniform);
  fill(problem.bias, workload.out, uniform);
  problem.d_values.resize(problem.values.size());
  problem.d_bias.resize(problem.bias.size());
  problem.feature_major = make_activations(workload, Layout::feature_major);
  problem.row_major = make_activations(workload, Layout::row_major);
  fill_both(problem.feature_major.x, problem.row_major.x, workload.batch, workload.in, uniform);
  fill_both(problem.feature_major.dy, problem.row_major.dy, workload.batch, workload.out, uniform);
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

void poison_outputs(Problem& problem) {
  const Workload& workload = problem.workload;
  for (const Layout layout : {Layout::feature_major, Layout::row_major}) {
    Activations& activations = problem.activations(layout);
    poison(activations.y, workload.batch, workload.out);
    poison(activations.dx, workload.batch, workload.in);
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::fill(problem.d_values.begin(), problem.d_values.end(), kNan);
  std::fill(problem.d_bias.begin(), problem.d_bias.end(), kNan);
}

}  // namespace sparsejit::frontend
