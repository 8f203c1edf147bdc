// See layer_case.h.
#include "support/layer_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/random.h"

namespace sparsejit::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

GuardedBuffer input_buffer(const std::vector<float>& contents, Edge edge) {
  GuardedBuffer buffer(static_cast<int64_t>(contents.size()), edge);
  std::copy(contents.begin(), contents.end(), buffer.data());
  buffer.make_read_only();
  return buffer;
}

GuardedBuffer output_buffer(int64_t count, Edge edge) {
  GuardedBuffer buffer(count, edge);
  buffer.fill(kNan);
  return buffer;
}

Activation input_activation(Arrangement arrangement, int64_t batch, int64_t features, Edge edge,
                            std::vector<float>& contents) {
  Activation activation(arrangement, batch, features, edge);
  activation.write(contents);
  contents = activation.read();
  activation.make_read_only();
  return activation;
}

Activation output_activation(Arrangement arrangement, int64_t batch, int64_t features, Edge edge) {
  Activation activation(arrangement, batch, features, edge);
  activation.fill(kNan);
  return activation;
}

std::vector<float> contents_of(const GuardedBuffer& buffer, const char* name) {
  EXPECT_TRUE(buffer.canary_intact()) << name << ": written outside";
  return {buffer.floats().begin(), buffer.floats().end()};
}

std::vector<float> contents_of(const Activation& activation, const char* name) {
  EXPECT_TRUE(activation.gaps_intact()) << name << ": written outside its elements";
  return activation.read();
}

}  // namespace

std::string to_text(const LayerCase& c) {
  return fmt::format("{}x{} mask with {} stored, batch {}, x {}, y {}, dy {}, dx {}{}{}{}{}{}",
                     c.mask.rows(), c.mask.cols(), c.mask.nnz(), c.batch, to_text(c.x),
                     to_text(c.y), to_text(c.dy), c.with_dx ? to_text(c.dx) : "none",
                     c.with_bias ? "" : ", no bias", c.with_d_values ? "" : ", no d_values",
                     c.with_d_bias ? "" : ", no d_bias",
                     c.edge == Edge::end ? ", flush to the end" : ", flush to the start",
                     c.inputs ? ", inputs given" : "");
}

LayerInputs random_inputs(const Mask& mask, int64_t batch, bool with_bias, uint64_t seed) {
  return {.x = random_floats(batch * mask.cols(), 4 * seed),
          .dy = random_floats(batch * mask.rows(), 4 * seed + 1),
          .values = random_floats(mask.nnz(), 4 * seed + 2),
          .bias = with_bias ? random_floats(mask.rows(), 4 * seed + 3) : std::vector<float>{}};
}

LayerRun run_layer(const Layer& layer, const LayerCase& c) {
  const int64_t rows = c.mask.rows();
  const int64_t cols = c.mask.cols();
  LayerRun run;
  run.inputs = c.inputs ? *c.inputs : random_inputs(c.mask, c.batch, c.with_bias, c.seed);
  const Activation x = input_activation(c.x, c.batch, cols, c.edge, run.inputs.x);
  const Activation dy = input_activation(c.dy, c.batch, rows, c.edge, run.inputs.dy);
  const GuardedBuffer values = input_buffer(run.inputs.values, c.edge);
  const GuardedBuffer bias = input_buffer(run.inputs.bias, c.edge);
  const Activation y = output_activation(c.y, c.batch, rows, c.edge);
  const Activation dx = output_activation(c.dx, c.batch, c.with_dx ? cols : 0, c.edge);
  GuardedBuffer d_values = output_buffer(c.with_d_values ? c.mask.nnz() : 0, c.edge);
  GuardedBuffer d_bias = output_buffer(c.with_d_bias ? rows : 0, c.edge);
  layer.run_forward(x.view(), values.floats(), bias.floats(), y.view());
  layer.run_backward(x.view(), dy.view(), values.floats(), c.with_dx ? dx.view() : TensorView{},
                     d_values.floats(), d_bias.floats());
  run.outputs = {.y = contents_of(y, "y"),
                 .dx = contents_of(dx, "dx"),
                 .d_values = contents_of(d_values, "d_values"),
                 .d_bias = contents_of(d_bias, "d_bias")};
  return run;
}

void expect_matches_reference(const LayerCase& c, const LayerRun& run) {
  const LayerReference reference = reference_layer(c.mask, c.batch, run.inputs);
  expect_near(run.outputs.y, reference.y, "y");
  if (c.with_dx) expect_near(run.outputs.dx, reference.dx, "dx");
  if (c.with_d_values) expect_near(run.outputs.d_values, reference.d_values, "d_values");
  if (c.with_d_bias) expect_near(run.outputs.d_bias, reference.d_bias, "d_bias");
}

void expect_same_bits(const LayerOutputs& actual, const LayerOutputs& expected) {
  expect_same_bits(actual.y, expected.y, "y");
  expect_same_bits(actual.dx, expected.dx, "dx");
  expect_same_bits(actual.d_values, expected.d_values, "d_values");
  expect_same_bits(actual.d_bias, expected.d_bias, "d_bias");
}

std::vector<Engine> available_engines() {
  if (!detect_machine().avx2_fma) return {Engine::portable};
  return {Engine::native, Engine::interpreted, Engine::portable};
}

std::vector<Engine> linear_engines() {
  std::vector<Engine> engines = available_engines();
  if (detect_machine().avx2_fma) engines.push_back(Engine::dense);
  return engines;
}

Layer forced_layer(const Mask& mask, Engine engine, Runtime& runtime) {
  LayerOptions options;
  options.engine = engine;
  options.runtime = &runtime;
  return compile_layer(mask, options);
}

void expect_ran_on(const Layer& layer, Engine engine) {
  EXPECT_FALSE(layer.report().empty()) << "nothing ran";
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.engine, engine) << to_text(report.engine) << ": " << report.reason;
  }
}

}  // namespace sparsejit::test
