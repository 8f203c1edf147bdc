// OpenBLAS as a contender; see contender.h.
//
// Each pass runs on whichever layout of the activations was faster in a short trial, whatever the
// workload's layout, and is not charged for a change of layout: sparse is compared with dense at
// its best. Forward is one product, backward two (the gradients of the input and of all weights).
#include <algorithm>
#include <chrono>
#include <memory>

#include "bench/baseline_bias.h"
#include "bench/contender.h"
#include "dense_blas.h"

namespace sparsejit::frontend {
namespace {

constexpr int kTrials = 3;

struct DenseLayer {
  Problem& problem;
  AlignedFloats weight;
  AlignedFloats d_weight;

  DenseShape shape() const {
    return {problem.workload.out, problem.workload.in, problem.workload.batch};
  }
};

void dense_run_forward(DenseLayer& dense, Layout layout) {
  Activations& tensors = dense.problem.activations(layout);
  const auto product = layout == Layout::feature_major ? dense_forward : dense_forward_row_major;
  product(dense.shape(), dense.weight.get(), tensors.x.data(), tensors.x.pitch(), tensors.y.data(),
          tensors.y.pitch());
  if (dense.problem.workload.bias) add_bias(dense.problem, layout);
}

void dense_run_backward(DenseLayer& dense, Layout layout) {
  Problem& problem = dense.problem;
  Activations& tensors = problem.activations(layout);
  const bool by_feature = layout == Layout::feature_major;
  if (problem.workload.want_dx) {
    const auto product = by_feature ? dense_backward_input : dense_backward_input_row_major;
    product(dense.shape(), dense.weight.get(), tensors.dy.data(), tensors.dy.pitch(),
            tensors.dx.data(), tensors.dx.pitch());
  }
  const auto product = by_feature ? dense_backward_weight : dense_backward_weight_row_major;
  product(dense.shape(), tensors.dy.data(), tensors.dy.pitch(), tensors.x.data(), tensors.x.pitch(),
          dense.d_weight.get());
  if (problem.workload.bias) sum_d_bias(problem, layout);
}

void dense_run(DenseLayer& dense, Pass pass, Layout layout) {
  pass == Pass::forward ? dense_run_forward(dense, layout) : dense_run_backward(dense, layout);
}

double best_trial_seconds(DenseLayer& dense, Pass pass, Layout layout) {
  dense_run(dense, pass, layout);
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    dense_run(dense, pass, layout);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = trial == 0 ? seconds.count() : std::min(best, seconds.count());
  }
  return best;
}

void gather_d_values(DenseLayer& dense) {
  const Mask& mask = dense.problem.mask;
  for (int64_t row = 0; row < mask.rows(); ++row) {
    for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
      dense.problem.d_values[i] = dense.d_weight[row * mask.cols() + mask.columns()[i]];
    }
  }
}

}  // namespace

ContenderResult make_dense_contender(Problem& problem, const Runtime& runtime) {
  set_dense_threads(runtime.threads());
  const auto dense = std::make_shared<DenseLayer>(
      DenseLayer{problem, make_dense_weight(problem),
                 allocate_floats(problem.mask.rows() * problem.mask.cols())});
  Contender contender;
  contender.engine = BenchEngine::dense;
  for (const Pass pass : kBothPasses) {
    const double feature_major = best_trial_seconds(*dense, pass, Layout::feature_major);
    const double row_major = best_trial_seconds(*dense, pass, Layout::row_major);
    contender.ran_on[index_of(pass)] =
        feature_major <= row_major ? Layout::feature_major : Layout::row_major;
  }
  contender.run = [dense, ran_on = contender.ran_on](Pass pass) {
    dense_run(*dense, pass, ran_on[index_of(pass)]);
  };
  contender.collect_d_values = [dense] { gather_d_values(*dense); };
  return {contender, ""};
}

}  // namespace sparsejit::frontend
