// The library's engines as contenders, and the check every contender passes before it is timed;
// see contender.h. Read this first to see how `bench` calls the library.
#include <algorithm>
#include <memory>

#include "bench/contender.h"
#include "bench/picker_run.h"
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

}  // namespace

Layer make_layer(const Problem& problem, Engine engine, Runtime& runtime) {
  LayerOptions options;
  options.engine = engine;
  options.runtime = &runtime;
  const std::optional<ConvGeometry>& conv = problem.workload.conv;
  return conv ? compile_layer(problem.mask, conv->conv, options)
              : compile_layer(problem.mask, options);
}

void run_layer(const Layer& layer, Problem& problem, Pass pass) {
  Activations& tensors = problem.activations(problem.workload.layout);
  const bool want_dx = problem.workload.want_dx;
  if (problem.workload.conv) {
    if (pass == Pass::forward) {
      layer.run_forward(tensors.x.image_view(), problem.values, problem.bias_if_used(),
                        tensors.y.image_view());
    } else {
      layer.run_backward(tensors.x.image_view(), tensors.dy.image_view(), problem.values,
                         want_dx ? tensors.dx.image_view() : ImageView{}, problem.d_values,
                         problem.d_bias_if_used());
    }
  } else if (pass == Pass::forward) {
    layer.run_forward(tensors.x.view(), problem.values, problem.bias_if_used(), tensors.y.view());
  } else {
    layer.run_backward(tensors.x.view(), tensors.dy.view(), problem.values,
                       want_dx ? tensors.dx.view() : TensorView{}, problem.d_values,
                       problem.d_bias_if_used());
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

ContenderResult make_layer_contender(Problem& problem, BenchEngine engine, Runtime& runtime,
                                     Evictor* evictor) {
  const auto layer = std::make_shared<Layer>(make_layer(problem, library_engine(engine), runtime));
  Contender contender;
  contender.engine = engine;
  contender.run = [layer, &problem](Pass pass) { run_layer(*layer, problem, pass); };
  contender.layout.fill(problem.workload.layout);
  contender.ran_on.fill(layout_name(problem.workload, problem.workload.layout));
  for (const Pass pass : kBothPasses) {
    const std::optional<KernelReport> report = run_until_settled(*layer, problem, pass, evictor);
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
  if (contender.poison_outputs) contender.poison_outputs();
  for (const Pass pass : kBothPasses) contender.run(pass);
  if (contender.collect_outputs) contender.collect_outputs();

  PerPass<double>& error = contender.max_rel_error;
  error[0] = max_rel_error(reference.y, problem.activations(contender.layout[0]).y);
  error[1] = max_rel_error(reference.d_values, problem.d_values);
  if (problem.workload.want_dx) {
    error[1] = std::max(error[1],
                        max_rel_error(reference.dx, problem.activations(contender.layout[1]).dx));
  }
  if (problem.workload.bias) {
    error[1] = std::max(error[1], max_rel_error(reference.d_bias, problem.d_bias));
  }
  for (const Pass pass : kBothPasses) {
    if (error[index_of(pass)] > kMaxRelError) {
      throw_error(
          "bench: {} of {} sparsity {:.6g} is wrong: {} has relative error {:.3g}, expected at "
          "most "
          "{:.0e}; it was not timed",
          to_text(pass), layer_text(problem.workload), problem.workload.sparsity,
          to_text(contender.engine), error[index_of(pass)], kMaxRelError);
    }
  }
}

}  // namespace sparsejit::frontend
