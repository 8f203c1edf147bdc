// LayerCase: one mask, batch and arrangement of all tensors; run_layer runs both passes of a layer
// on it the hardest way there is:
//
//   * every buffer lies flush against an unmapped page (see guarded_buffer.h),
//   * inputs are read-only memory, outputs are filled with NaN before,
//   * slots between the elements of strided tensors must keep their content.
//
// expect_matches_reference then compares with the naive layer of reference.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sparsejit/layer.h"
#include "support/activation.h"
#include "support/reference.h"

namespace sparsejit::test {

struct LayerCase {
  Mask mask;
  int64_t batch = 1;
  Arrangement x = Arrangement::row_major;
  Arrangement y = Arrangement::row_major;
  Arrangement dy = Arrangement::row_major;
  Arrangement dx = Arrangement::row_major;
  Edge edge = Edge::end;
  bool with_bias = true;
  bool with_dx = true;
  bool with_d_values = true;
  bool with_d_bias = true;
  uint64_t seed = 1;
  std::optional<LayerInputs> inputs = {};  // empty: random, by the seed

  // The same arrangement for all four activations.
  void arrange(Arrangement all) { x = y = dy = dx = all; }
};

std::string to_text(const LayerCase& layer_case);

struct LayerOutputs {
  std::vector<float> y;         // row-major (batch, rows)
  std::vector<float> dx;        // row-major (batch, cols); empty without dx
  std::vector<float> d_values;  // nnz; empty without d_values
  std::vector<float> d_bias;    // rows; empty without d_bias
};

struct LayerRun {
  LayerInputs inputs;  // as the layer saw them: expanded tensors repeat elements
  LayerOutputs outputs;
};

// Calls after which an automatic layer has picked: of four candidates at most, short and close.
inline constexpr int kCallsToPick = 400;

LayerInputs random_inputs(const Mask& mask, int64_t batch, bool with_bias, uint64_t seed);
LayerRun run_layer(const Layer& layer, const LayerCase& layer_case);

void expect_matches_reference(const LayerCase& layer_case, const LayerRun& run);
void expect_same_bits(const LayerOutputs& actual, const LayerOutputs& expected);

// Engines that this machine can be asked for: native and interpreted need AVX2 and FMA.
std::vector<Engine> available_engines();
// And dense, which needs a runtime with an sgemm (plain_sgemm.h).
std::vector<Engine> linear_engines();
// A layer that runs on exactly this engine.
Layer forced_layer(const Mask& mask, Engine engine, Runtime& runtime);
// Fails unless everything the layer has run so far ran on `engine`: a fall-back would make a test
// of an engine test another one.
void expect_ran_on(const Layer& layer, Engine engine);

}  // namespace sparsejit::test
