// The library's engines as contenders, and the check every contender passes before it is timed;
// see contender.h. Read this first to see how `bench` calls the library.
#include <algorithm>
#include <memory>

#include "bench/contender.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

Engine library_engine(BenchEngine engine) {
  switch (engine) {
    case BenchEngine::native:
      return Engine::native;
    case BenchEngine::interpreted:
      return Engine::interpreted;
    default:
      return Engine::portable;
  }
}

double activation_error(const Checked& checked, Activation& activation) {
  const TensorView view = activation.view();
  return max_rel_error(checked, view.data, view.feature_stride, view.batch_stride);
}

}  // namespace

Layer make_layer(const Problem& problem, Engine engine, Runtime& runtime) {
  LayerOptions options;
  options.engine = engine;
  options.runtime = &runtime;
  return compile_layer(problem.mask, options);
}

void run_layer(const Layer& layer, Problem& problem, Pass pass) {
  const Layout layout = problem.workload.layout;
  Activations& activations = problem.activations(layout);
  if (pass == Pass::forward) {
    layer.run_forward(activations.x.view(), problem.values, problem.bias_if_used(),
                      activations.y.view());
  } else {
    layer.run_backward(activations.x.view(), activations.dy.view(), problem.values,
                       problem.dx_if_used(layout), problem.d_values, problem.d_bias_if_used());
  }
}

std::optional<KernelReport> find_report(const Layer& layer, const Workload& workload, Pass pass) {
  for (const KernelReport& report : layer.report()) {
    if (report.pass == pass && report.batch == workload.batch) return report;
  }
  return std::nullopt;
}

Engine engine_of(const std::optional<KernelReport>& report) {
  return report ? report->engine : Engine::portable;
}

ContenderResult make_layer_contender(Problem& problem, BenchEngine engine, Runtime& runtime) {
  const auto layer = std::make_shared<Layer>(make_layer(problem, library_engine(engine), runtime));
  Contender contender;
  contender.engine = engine;
  contender.run = [layer, &problem](Pass pass) { run_layer(*layer, problem, pass); };
  contender.ran_on.fill(problem.workload.layout);
  for (const Pass pass : kBothPasses) {
    contender.run(pass);
    const std::optional<KernelReport> report = find_report(*layer, problem.workload, pass);
    if (engine_of(report) != library_engine(engine)) {
      return {std::nullopt, report ? report->reason : "it cannot run here; portable would"};
    }
    if (engine != BenchEngine::native || !report) continue;
    contender.code_bytes[index_of(pass)] = report->code_bytes;
    contender.compile_ms[index_of(pass)] = report->compile_seconds * 1e3;
  }
  return {contender, ""};
}

void verify_contender(Problem& problem, const Reference& reference, Contender& contender) {
  poison_outputs(problem);
  for (const Pass pass : kBothPasses) contender.run(pass);
  if (contender.collect_d_values) contender.collect_d_values();

  PerPass<double>& error = contender.max_rel_error;
  error[0] = activation_error(reference.y, problem.activations(contender.ran_on[0]).y);
  error[1] = max_rel_error(reference.d_values, problem.d_values.data(), 1, 0);
  if (problem.workload.want_dx) {
    error[1] = std::max(
        error[1], activation_error(reference.dx, problem.activations(contender.ran_on[1]).dx));
  }
  if (problem.workload.bias) {
    error[1] = std::max(error[1], max_rel_error(reference.d_bias, problem.d_bias.data(), 1, 0));
  }
  for (const Pass pass : kBothPasses) {
    if (error[index_of(pass)] > kMaxRelError) {
      throw_error(
          "bench: {} of {} batch {} sparsity {} is wrong: {} has relative error {:.3g}, "
          "expected at most {:.0e}; it was not timed",
          to_text(pass), layer_name(problem.workload), problem.workload.batch,
          problem.workload.sparsity, to_text(contender.engine), error[index_of(pass)],
          kMaxRelError);
    }
  }
}

}  // namespace sparsejit::frontend
