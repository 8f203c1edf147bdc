// Reference: what a layer should compute, in double precision by the plainest loops, and how far a
// result is from it. Read this first to know what "verified" means in `bench`.
//
// The error of one element is relative to the sum of the magnitudes of its terms:
//
//     y = 3.0*x0 - 3.0*x1 + b       error = |y_engine - y_reference| / (|3 x0| + |3 x1| + |b|)
//
// Rounding in any order of summation stays within a few times n * 2^-24 of that sum, also where
// the terms cancel, while one forgotten, doubled or misplaced term is about 1/n of it. That
// separates wrong from rounded by orders of magnitude without a tolerance per shape. An element
// without terms must be exactly 0, and NaN counts as an infinite error.
//
// Large problems are checked on a random sample of channels and stored weights (the same for
// one seed), so that about kReferenceProducts products are computed for each output.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/problem.h"

namespace sparsejit::frontend {

inline constexpr double kMaxRelError = 1e-4;
inline constexpr double kReferenceProducts = 2e8;

// Right answers for some streams of one output tensor: channels, `length` pixels each (image after
// image), or single numbers.
struct Checked {
  std::vector<int64_t> streams;
  int64_t length = 1;
  std::vector<double> expected;   // streams x length
  std::vector<double> magnitude;  // sum of |term|
};

struct Reference {
  Checked y;
  Checked dx;
  Checked d_values;
  Checked d_bias;
};

Reference compute_reference(const Problem& problem);

// Largest error over the checked elements.
double max_rel_error(const Checked& checked, const Activation& activation);
double max_rel_error(const Checked& checked, std::span<const float> numbers);

}  // namespace sparsejit::frontend
