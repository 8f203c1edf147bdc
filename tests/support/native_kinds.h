// Layers of the native engine, which measures its kinds of generated code in turn: whichever runs,
// it must make the bits of the interpreted engine.
#pragma once

#include "support/conv_case.h"
#include "support/layer_case.h"

namespace sparsejit::test {

// All kinds of generated code have been measured after so many.
inline constexpr int kCallsToMeasureAll = 12;

// Runs the case until each kind has been measured. The interpreted engine's results are compared
// with the reference. Returns the native layer.
Layer expect_native_like_interpreted(const LayerCase& layer_case, Runtime& runtime);
Layer expect_native_like_interpreted(const ConvCase& conv_case, Runtime& runtime);

// Whether a candidate, by its name in reports, has run in this pass.
bool has_run(const Layer& layer, Pass pass, const char* candidate);

}  // namespace sparsejit::test
