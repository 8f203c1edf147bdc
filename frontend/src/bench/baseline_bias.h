// Bias work of the baselines, which their products do not do: adding it to y, and summing its
// gradient. Plain loops the compiler turns into vectors; one pass over y or dy each, which is what
// a dense framework does too.
#pragma once

#include "bench/problem.h"

namespace sparsejit::frontend {

// y += bias, in the given layout.
void add_bias(Problem& problem, Layout layout);

// d_bias = sum of dy over the samples.
void sum_d_bias(Problem& problem, Layout layout);

}  // namespace sparsejit::frontend
