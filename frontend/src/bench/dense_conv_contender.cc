// oneDNN as a contender for convolutions; see contender.h.
//
// Tensors are in the layouts oneDNN asks for before anything is timed, whatever the workload's
// layout: sparse is compared with dense at its best. Backward is two products, as in
// dense_contender.
#include <limits>
#include <memory>

#include "bench/contender.h"
#include "dense_conv.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

DenseConvShape dense_shape(const Workload& workload) {
  const ConvGeometry& geometry = *workload.conv;
  return {workload.batch, weight_shape(workload), geometry.conv,
          geometry.image, workload.bias,          workload.want_dx};
}

void collect(const DenseConv& dense, Problem& problem) {
  dense.get_y(problem.feature_major.y.data());
  if (problem.workload.want_dx) dense.get_dx(problem.feature_major.dx.data());
  if (problem.workload.bias) dense.get_d_bias(problem.d_bias.data());
  const AlignedFloats d_weight = allocate_floats(problem.mask.rows() * problem.mask.cols());
  dense.get_d_weight(d_weight.get());
  gather_d_values(problem, d_weight.get());
}

}  // namespace

ContenderResult make_dense_conv_contender(Problem& problem, const Runtime& runtime) {
  std::shared_ptr<DenseConv> dense;
  try {
    dense = std::make_shared<DenseConv>(dense_shape(problem.workload), runtime.threads());
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
  const AlignedFloats weight = make_dense_weight(problem);
  dense->set_inputs(problem.feature_major.x.data(), problem.feature_major.dy.data(), weight.get(),
                    problem.bias.data());
  Contender contender;
  contender.engine = BenchEngine::dense;
  contender.run = [dense](Pass pass) {
    pass == Pass::forward ? dense->run_forward() : dense->run_backward();
  };
  contender.poison_outputs = [dense] { dense->poison_outputs(); };
  contender.collect_outputs = [dense, &problem] { collect(*dense, problem); };
  contender.layout.fill(Layout::feature_major);
  contender.ran_on = {dense->forward_implementation(), dense->backward_implementation()};
  return {contender, ""};
}

}  // namespace sparsejit::frontend
