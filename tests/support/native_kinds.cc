#include "support/native_kinds.h"

#include <gtest/gtest.h>

namespace sparsejit::test {
namespace {

// run(layer) runs the case on a layer.
template <typename Case, typename Run>
void expect_same_runs(const Case& of, const Layer& native, const Layer& interpreted,
                      const Run& run) {
  SCOPED_TRACE(to_text(of));
  const LayerRun expected = run(interpreted);
  expect_matches_reference(of, expected);
  for (int call = 0; call < kCallsToMeasureAll; ++call) {
    expect_same_bits(run(native).outputs, expected.outputs);
  }
}

}  // namespace

Layer expect_native_like_interpreted(const LayerCase& layer_case, Runtime& runtime) {
  Layer native = forced_layer(layer_case.mask, Engine::native, runtime);
  expect_same_runs(layer_case, native, forced_layer(layer_case.mask, Engine::interpreted, runtime),
                   [&](const Layer& layer) { return run_layer(layer, layer_case); });
  return native;
}

Layer expect_native_like_interpreted(const ConvCase& conv_case, Runtime& runtime) {
  Layer native = forced_conv(conv_case, Engine::native, runtime);
  expect_same_runs(conv_case, native, forced_conv(conv_case, Engine::interpreted, runtime),
                   [&](const Layer& layer) { return run_conv(layer, conv_case); });
  return native;
}

bool has_run(const Layer& layer, Pass pass, const char* name) {
  for (const KernelReport& report : layer.report()) {
    if (report.pass != pass) continue;
    for (const CandidateReport& candidate : report.candidates) {
      if (candidate.name == name) return candidate.runs || candidate.measured_seconds > 0;
    }
  }
  return false;
}

}  // namespace sparsejit::test
