// Naive double-precision forward and backward over the stored weights; see reference.h.
#include "bench/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "bench/tap_runs.h"

namespace sparsejit::frontend {
namespace {

// One of `step` streams, chosen at random, but at least one if there are any.
Checked make_checked(int64_t count, uint64_t step, int64_t length, std::mt19937_64& random) {
  Checked checked;
  for (int64_t i = 0; i < count; ++i) {
    if (random() % step == 0) checked.streams.push_back(i);
  }
  if (checked.streams.empty() && count > 0) {
    checked.streams.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(count)));
  }
  checked.length = length;
  checked.expected.resize(checked.streams.size() * static_cast<size_t>(length));
  checked.magnitude.resize(checked.expected.size());
  return checked;
}

// Position of each stream among the checked ones, -1 where it is not checked.
std::vector<int64_t> slots(const Checked& checked, int64_t count) {
  std::vector<int64_t> slot(static_cast<size_t>(count), -1);
  for (size_t i = 0; i < checked.streams.size(); ++i) {
    slot[checked.streams[i]] = static_cast<int64_t>(i);
  }
  return slot;
}

// Adds scale * numbers to `length` elements of a checked stream.
void add_scaled(Checked& checked, int64_t slot, int64_t position, int64_t position_step,
                double scale, const float* numbers, int64_t step, int64_t length) {
  double* expected = checked.expected.data() + slot * checked.length + position;
  double* magnitude = checked.magnitude.data() + slot * checked.length + position;
  for (int64_t t = 0; t < length; ++t) {
    const double term = scale * numbers[t * step];
    expected[t * position_step] += term;
    magnitude[t * position_step] += std::abs(term);
  }
}

void add_dot(Checked& checked, int64_t slot, const float* left, int64_t step, const float* right,
             int64_t length) {
  double expected = 0;
  double magnitude = 0;
  for (int64_t t = 0; t < length; ++t) {
    const double term = static_cast<double>(left[t * step]) * right[t];
    expected += term;
    magnitude += std::abs(term);
  }
  checked.expected[slot] += expected;
  checked.magnitude[slot] += magnitude;
}

void accumulate_bias(const Problem& problem, Reference& reference) {
  const Activation& dy = problem.feature_major.dy;
  const std::vector<float> ones(static_cast<size_t>(reference.y.length), 1.0F);
  for (size_t i = 0; i < reference.y.streams.size() && problem.workload.bias; ++i) {
    add_scaled(reference.y, static_cast<int64_t>(i), 0, 1, problem.bias[reference.y.streams[i]],
               ones.data(), 1, reference.y.length);
  }
  for (const int64_t row : reference.d_bias.streams) {
    for (int64_t image = 0; image < dy.images(); ++image) {
      add_dot(reference.d_bias, row, dy.stream(row, image), 1, ones.data(), dy.pixels());
    }
  }
}

// Places of what a stored weight contributes to; -1 where that is not checked.
struct TapSlots {
  int64_t y;
  int64_t dx;
  int64_t d_value;
};

void accumulate_tap(const Problem& problem, const std::vector<Run>& runs, int64_t row,
                    int64_t channel, float value, const TapSlots& slot, Reference& reference) {
  const Activations& tensors = problem.feature_major;
  for (const Run& run : runs) {
    const float* x = tensors.x.stream(channel, run.image) + run.x_pixel;
    const float* dy = tensors.dy.stream(row, run.image) + run.y_pixel;
    if (slot.y >= 0) {
      add_scaled(reference.y, slot.y, run.image * tensors.dy.pixels() + run.y_pixel, 1, value, x,
                 run.step, run.length);
    }
    if (slot.dx >= 0) {
      add_scaled(reference.dx, slot.dx, run.image * tensors.x.pixels() + run.x_pixel, run.step,
                 value, dy, 1, run.length);
    }
    if (slot.d_value >= 0) add_dot(reference.d_values, slot.d_value, x, run.step, dy, run.length);
  }
}

void accumulate_taps(const Problem& problem, Reference& reference) {
  const Mask& mask = problem.mask;
  const MaskShape& shape = mask.shape();
  const int64_t kernel = shape.kernel_h * shape.kernel_w;
  const std::vector<std::vector<Run>> runs = list_all_runs(problem.workload);
  const std::vector<int64_t> y_slot = slots(reference.y, mask.rows());
  const std::vector<int64_t> dx_slot = slots(reference.dx, problem.workload.in);
  const std::vector<int64_t> value_slot = slots(reference.d_values, mask.nnz());
  const int64_t group_rows = mask.rows() * shape.in / problem.workload.in;
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const int64_t first_channel = row / group_rows * shape.in;
    for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
      const int64_t channel = first_channel + mask.columns()[i] / kernel;
      accumulate_tap(problem, runs[mask.columns()[i] % kernel], row, channel, problem.values[i],
                     {y_slot[row], dx_slot[channel], value_slot[i]}, reference);
    }
  }
}

// `largest`, or the error of one element if that is larger.
double larger_error(double largest, double seen, double expected, double magnitude) {
  const double difference = std::abs(seen - expected);
  if (difference == 0) return largest;
  const double error = difference / magnitude;
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
}

}  // namespace

Reference compute_reference(const Problem& problem) {
  const Workload& workload = problem.workload;
  const Mask& mask = problem.mask;
  const Extents sizes = extents(workload);
  const double products = static_cast<double>(mask.nnz()) * products_per_weight(workload);
  const auto step = static_cast<uint64_t>(std::max(1.0, std::ceil(products / kReferenceProducts)));
  std::mt19937_64 random(workload.seed);

  Reference reference;
  reference.y = make_checked(workload.out, step, sizes.images * sizes.output_pixels(), random);
  reference.dx = make_checked(workload.in, step, sizes.images * sizes.input_pixels(), random);
  reference.d_values = make_checked(mask.nnz(), step, 1, random);
  reference.d_bias = make_checked(workload.out, 1, 1, random);
  accumulate_bias(problem, reference);
  accumulate_taps(problem, reference);
  return reference;
}

double max_rel_error(const Checked& checked, const Activation& activation) {
  double largest = 0;
  size_t position = 0;
  for (const int64_t channel : checked.streams) {
    for (int64_t image = 0; image < activation.images(); ++image) {
      for (int64_t pixel = 0; pixel < activation.pixels(); ++pixel, ++position) {
        largest = larger_error(largest, activation.at(image, channel, pixel),
                               checked.expected[position], checked.magnitude[position]);
      }
    }
  }
  return largest;
}

double max_rel_error(const Checked& checked, std::span<const float> numbers) {
  double largest = 0;
  for (size_t i = 0; i < checked.streams.size(); ++i) {
    largest = larger_error(largest, numbers[checked.streams[i]], checked.expected[i],
                           checked.magnitude[i]);
  }
  return largest;
}

}  // namespace sparsejit::frontend
