// OpenBLAS as a contender for linear layers; see contender.h.
//
// Each pass runs on whichever layout of the activations was faster in a short trial, whatever the
// workload's layout, and is not charged for a change of layout: sparse is compared with dense at
// its best. Forward is one product, backward two (the gradients of the input and of all weights).
#include <algorithm>
#include <limits>
#include <memory>

#include "bench/baseline_bias.h"
#include "bench/contender.h"
#include "bench/trial.h"
#include "dense_blas.h"

namespace sparsejit::frontend {
namespace {

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

}  // namespace

ContenderResult make_dense_contender(Problem& problem, const Runtime& runtime) {
  set_dense_threads(runtime.threads());
  const auto dense = std::make_shared<DenseLayer>(
      DenseLayer{problem, make_dense_weight(problem),
                 allocate_floats(problem.mask.rows() * problem.mask.cols())});
  Contender contender;
  contender.engine = BenchEngine::dense;
  for (const Pass pass : kBothPasses) {
    const size_t p = index_of(pass);
    contender.layout[p] = faster_layout([&](Layout layout) { dense_run(*dense, pass, layout); });
    contender.ran_on[p] = layout_name(problem.workload, contender.layout[p]);
  }
  contender.run = [dense, layout = contender.layout](Pass pass) {
    dense_run(*dense, pass, layout[index_of(pass)]);
  };
  contender.poison_outputs = [dense] {
    std::fill_n(dense->d_weight.get(), dense->problem.mask.rows() * dense->problem.mask.cols(),
                std::numeric_limits<float>::quiet_NaN());
  };
  contender.collect_outputs = [dense] { gather_d_values(dense->problem, dense->d_weight.get()); };
  return {contender, ""};
}

}  // namespace sparsejit::frontend
