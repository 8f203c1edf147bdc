// MKL's sparse BLAS as a contender for linear layers; see contender.h.
//
// Forward is one product of the mask in CSR form with x. Backward is the same with the transposed
// mask and dy, whose values are put in order anew at every call, for weights change at every step
// (MKL 2026.2's own product with a transposed matrix takes 4 to 8 times as long: 768 -> 3072, batch
// 902, 95%, 50 to 110 ms against 14). MKL has no product sampled at a mask, so the gradient of the
// values is what its users take: OpenBLAS's dense product. `mkl_sparse_optimize` is not called: it
// copies the values, so that new ones are not seen, and made no difference here.
//
// Each pass runs on whichever layout of the activations is faster, as dense does.
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "bench/baseline_bias.h"
#include "bench/contender.h"
#include "bench/trial.h"
#include "dense_blas.h"
#include "mkl_sparse.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

struct Transposed {
  Mask mask;
  std::vector<int64_t> order;  // of each of its values the index in the original
};

Transposed transpose_mask(const Mask& mask) {
  const TapTable table = transpose(lower_linear(mask));
  Transposed transposed;
  std::vector<int64_t> columns;
  for (const Tap& tap : table.taps) {
    columns.push_back(tap.stream);
    transposed.order.push_back(tap.value);
  }
  transposed.mask = Mask::from_csr(table.row_begin, columns, {mask.cols(), mask.rows()});
  return transposed;
}

struct MklLayer {
  explicit MklLayer(Problem& all)
      : problem(all),
        transposed(transpose_mask(problem.mask)),
        transposed_values(problem.values.size()),
        forward(problem.mask, problem.values.data()),
        backward(transposed.mask, transposed_values.data()),
        d_weight(allocate_floats(problem.mask.rows() * problem.mask.cols())) {}

  void run(Pass pass, Layout layout) {
    pass == Pass::forward ? run_forward(layout) : run_backward(layout);
  }

  void run_forward(Layout layout) const {
    Activations& tensors = problem.activations(layout);
    forward.multiply(layout, problem.workload.batch, tensors.x.data(), tensors.x.pitch(),
                     tensors.y.data(), tensors.y.pitch());
    if (problem.workload.bias) add_bias(problem, layout);
  }

  void run_backward(Layout layout) {
    const Workload& workload = problem.workload;
    Activations& tensors = problem.activations(layout);
    if (workload.want_dx) {
      for (size_t i = 0; i < transposed_values.size(); ++i) {
        transposed_values[i] = problem.values[transposed.order[i]];
      }
      backward.multiply(layout, workload.batch, tensors.dy.data(), tensors.dy.pitch(),
                        tensors.dx.data(), tensors.dx.pitch());
    }
    const auto product =
        layout == Layout::feature_major ? dense_backward_weight : dense_backward_weight_row_major;
    product({workload.out, workload.in, workload.batch}, tensors.dy.data(), tensors.dy.pitch(),
            tensors.x.data(), tensors.x.pitch(), d_weight.get());
    if (workload.bias) sum_d_bias(problem, layout);
  }

  void poison() {
    std::fill_n(d_weight.get(), problem.mask.rows() * problem.mask.cols(),
                std::numeric_limits<float>::quiet_NaN());
  }

  Problem& problem;
  Transposed transposed;
  std::vector<float> transposed_values;
  MklMatrix forward;
  MklMatrix backward;
  AlignedFloats d_weight;
};

Contender make_contender(const std::shared_ptr<MklLayer>& layer) {
  Contender contender;
  contender.engine = BenchEngine::mkl_sparse;
  for (const Pass pass : kBothPasses) {
    const size_t p = index_of(pass);
    contender.layout[p] = faster_layout([&](Layout layout) { layer->run(pass, layout); });
    contender.ran_on[p] = layout_name(layer->problem.workload, contender.layout[p]);
  }
  contender.run = [layer, layout = contender.layout](Pass pass) {
    layer->run(pass, layout[index_of(pass)]);
  };
  contender.poison_outputs = [layer] { layer->poison(); };
  contender.collect_outputs = [layer] { gather_d_values(layer->problem, layer->d_weight.get()); };
  return contender;
}

}  // namespace

ContenderResult make_mkl_contender(Problem& problem, const Runtime& runtime) {
  if (problem.workload.conv) return {std::nullopt, "MKL has no sparse convolution"};
  if (!mkl_problem().empty()) return {std::nullopt, mkl_problem()};
  if (problem.mask.nnz() == 0) return {std::nullopt, "MKL takes no empty matrix"};
  set_mkl_threads(runtime.threads());
  set_dense_threads(runtime.threads());
  try {
    return {make_contender(std::make_shared<MklLayer>(problem)), ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

}  // namespace sparsejit::frontend
