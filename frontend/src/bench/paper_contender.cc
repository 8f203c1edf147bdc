// The paper's loop as a contender for linear layers; see contender.h.
//
// It runs on feature-major tensors whatever the workload's layout, because that is the layout the
// paper keeps its activations in; it is not charged for a change of layout.
#include "bench/baseline_bias.h"
#include "bench/contender.h"
#include "bench/paper_loop.h"

namespace sparsejit::frontend {
namespace {

void paper_run(Problem& problem, Pass pass) {
  const Mask& mask = problem.mask;
  Activations& tensors = problem.feature_major;
  const PaperLayer layer{mask.rows(),
                         mask.cols(),
                         problem.workload.batch,
                         tensors.x.pitch(),
                         mask.row_begin().data(),
                         mask.columns().data(),
                         problem.values.data()};
  if (pass == Pass::forward) {
    paper_forward(layer, tensors.x.data(), problem.workload.bias ? problem.bias.data() : nullptr,
                  tensors.y.data());
    return;
  }
  paper_backward(layer, tensors.x.data(), tensors.dy.data(),
                 problem.workload.want_dx ? tensors.dx.data() : nullptr, problem.d_values.data());
  if (problem.workload.bias) sum_d_bias(problem, Layout::feature_major);
}

}  // namespace

ContenderResult make_paper_contender(Problem& problem, const Runtime& runtime) {
  if (!runtime.machine().avx2_fma) return {std::nullopt, "this CPU lacks AVX2 or FMA"};
  if (runtime.threads() > 1) return {std::nullopt, "it runs on one thread only"};
  Contender contender;
  contender.engine = BenchEngine::paper_loop;
  contender.run = [&problem](Pass pass) { paper_run(problem, pass); };
  contender.layout.fill(Layout::feature_major);
  contender.ran_on.fill(layout_name(problem.workload, Layout::feature_major));
  return {contender, ""};
}

}  // namespace sparsejit::frontend
