// Naive double-precision forward and backward over the stored weights; see reference.h.
#include "bench/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

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

void add_scaled(Checked& checked, int64_t slot, double scale, const float* stream) {
  double* expected = checked.expected.data() + slot * checked.length;
  double* magnitude = checked.magnitude.data() + slot * checked.length;
  for (int64_t t = 0; t < checked.length; ++t) {
    const double term = scale * stream[t];
    expected[t] += term;
    magnitude[t] += std::abs(term);
  }
}

void add_dot(Checked& checked, int64_t slot, const float* left, const float* right,
             int64_t length) {
  double expected = 0;
  double magnitude = 0;
  for (int64_t t = 0; t < length; ++t) {
    const double term = static_cast<double>(left[t]) * right[t];
    expected += term;
    magnitude += std::abs(term);
  }
  checked.expected[slot] = expected;
  checked.magnitude[slot] = magnitude;
}

void accumulate_bias(const Problem& problem, Reference& reference) {
  const std::vector<float> ones(static_cast<size_t>(problem.workload.batch), 1.0F);
  for (size_t i = 0; i < reference.y.streams.size() && problem.workload.bias; ++i) {
    add_scaled(reference.y, static_cast<int64_t>(i), problem.bias[reference.y.streams[i]],
               ones.data());
  }
  for (const int64_t row : reference.d_bias.streams) {
    add_dot(reference.d_bias, row, problem.feature_major.dy.stream(row), ones.data(),
            problem.workload.batch);
  }
}

void accumulate_taps(const Problem& problem, Reference& reference) {
  const Mask& mask = problem.mask;
  const std::vector<int64_t> y_slot = slots(reference.y, mask.rows());
  const std::vector<int64_t> dx_slot = slots(reference.dx, mask.cols());
  const std::vector<int64_t> value_slot = slots(reference.d_values, mask.nnz());
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const float* dy = problem.feature_major.dy.stream(row);
    for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
      const int64_t col = mask.columns()[i];
      const float* x = problem.feature_major.x.stream(col);
      if (y_slot[row] >= 0) add_scaled(reference.y, y_slot[row], problem.values[i], x);
      if (dx_slot[col] >= 0) add_scaled(reference.dx, dx_slot[col], problem.values[i], dy);
      if (value_slot[i] >= 0) {
        add_dot(reference.d_values, value_slot[i], x, dy, problem.workload.batch);
      }
    }
  }
}

}  // namespace

Reference compute_reference(const Problem& problem) {
  const Workload& workload = problem.workload;
  const Mask& mask = problem.mask;
  const double products = static_cast<double>(mask.nnz()) * static_cast<double>(workload.batch);
  const auto step = static_cast<uint64_t>(std::max(1.0, std::ceil(products / kReferenceProducts)));
  std::mt19937_64 random(workload.seed);

  Reference reference;
  reference.y = make_checked(workload.out, step, workload.batch, random);
  reference.dx = make_checked(workload.in, step, workload.batch, random);
  reference.d_values = make_checked(mask.nnz(), step, 1, random);
  reference.d_bias = make_checked(workload.out, 1, 1, random);
  accumulate_bias(problem, reference);
  accumulate_taps(problem, reference);
  return reference;
}

double max_rel_error(const Checked& checked, const float* data, int64_t stream_stride,
                     int64_t element_stride) {
  double largest = 0;
  size_t position = 0;
  for (const int64_t stream : checked.streams) {
    for (int64_t t = 0; t < checked.length; ++t, ++position) {
      const double seen = data[stream * stream_stride + t * element_stride];
      const double difference = std::abs(seen - checked.expected[position]);
      if (difference == 0) continue;
      const double error = difference / checked.magnitude[position];
      if (!(error <= largest)) largest = error;
      if (std::isnan(largest)) return std::numeric_limits<double>::infinity();
    }
  }
  return largest;
}

}  // namespace sparsejit::frontend
