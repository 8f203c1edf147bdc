// Wrong arguments to a layer: one sentence with the value seen and what was expected, and nothing
// is written.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "sparsejit/layer.h"
#include "support/expect_error.h"
#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

constexpr float kUntouched = 77.0F;

// A 3x4 layer with 6 stored weights on batch 2, all arguments right until a test breaks one.
class LayerErrors : public ::testing::Test {
 protected:
  void expect_forward_error(std::initializer_list<std::string> fragments) {
    expect_error([&] { layer_.run_forward(x_, values_, bias_, y_); }, fragments);
    expect_untouched();
  }
  void expect_backward_error(std::initializer_list<std::string> fragments) {
    expect_error([&] { layer_.run_backward(x_, dy_, values_, dx_, d_values_, d_bias_); },
                 fragments);
    expect_untouched();
  }
  void expect_untouched() {
    EXPECT_EQ(y_memory_, std::vector<float>(6, kUntouched));
    EXPECT_EQ(dx_memory_, std::vector<float>(8, kUntouched));
    EXPECT_EQ(d_values_memory_, std::vector<float>(6, kUntouched));
    EXPECT_EQ(d_bias_memory_, std::vector<float>(3, kUntouched));
  }

  Runtime runtime_{with_threads(1)};
  Layer layer_ = forced_layer(Mask::random({3, 4}, 0.5, 1), Engine::automatic, runtime_);
  std::vector<float> x_memory_ = std::vector<float>(8, 1.0F);
  std::vector<float> dy_memory_ = std::vector<float>(6, 1.0F);
  std::vector<float> values_memory_ = std::vector<float>(6, 1.0F);
  std::vector<float> bias_memory_ = std::vector<float>(3, 1.0F);
  std::vector<float> y_memory_ = std::vector<float>(6, kUntouched);
  std::vector<float> dx_memory_ = std::vector<float>(8, kUntouched);
  std::vector<float> d_values_memory_ = std::vector<float>(6, kUntouched);
  std::vector<float> d_bias_memory_ = std::vector<float>(3, kUntouched);
  ConstTensorView x_ = row_major<const float>(x_memory_.data(), 2, 4);
  ConstTensorView dy_ = row_major<const float>(dy_memory_.data(), 2, 3);
  TensorView y_ = row_major(y_memory_.data(), 2, 3);
  TensorView dx_ = row_major(dx_memory_.data(), 2, 4);
  std::span<const float> values_ = values_memory_;
  std::span<const float> bias_ = bias_memory_;
  std::span<float> d_values_ = d_values_memory_;
  std::span<float> d_bias_ = d_bias_memory_;
};

TEST_F(LayerErrors, RightArgumentsPass) {
  layer_.run_forward(x_, values_, bias_, y_);
  layer_.run_backward(x_, dy_, values_, dx_, d_values_, d_bias_);
  EXPECT_NE(y_memory_[0], kUntouched);
  EXPECT_NE(dx_memory_[0], kUntouched);
  EXPECT_NE(d_values_memory_[0], kUntouched);
  EXPECT_EQ(d_bias_memory_, std::vector<float>(3, 2.0F));
}

TEST_F(LayerErrors, WrongShapesAreNamed) {
  x_.features = 5;
  expect_forward_error({"x", "5", "4"});
  expect_backward_error({"x", "5", "4"});
  x_.features = 4;
  y_.features = 4;
  expect_forward_error({"y", "4", "3"});
  dy_.features = 2;
  expect_backward_error({"dy", "2", "3"});
  dy_.features = 3;
  dx_.features = 3;
  expect_backward_error({"dx", "3", "4"});
}

TEST_F(LayerErrors, DifferentBatchesAreNamed) {
  y_.batch = 7;
  expect_forward_error({"y", "7", "2"});
  dy_.batch = 3;
  expect_backward_error({"dy", "3", "2"});
  dy_.batch = 2;
  dx_.batch = 1;
  expect_backward_error({"dx", "1", "2"});
}

TEST_F(LayerErrors, NegativeBatchIsNamed) {
  x_.batch = y_.batch = dy_.batch = dx_.batch = -2;
  expect_forward_error({"x", "-2"});
  expect_backward_error({"x", "-2"});
}

TEST_F(LayerErrors, NullTensorsAreNamed) {
  y_.data = nullptr;
  expect_forward_error({"y", "null"});
  x_.data = nullptr;
  expect_forward_error({"x", "null"});
  expect_backward_error({"x", "null"});
  x_.data = x_memory_.data();
  dy_.data = nullptr;
  expect_backward_error({"dy", "null"});
}

TEST_F(LayerErrors, NullArraysAreNamed) {
  const std::span<const float> null_input(static_cast<const float*>(nullptr), 6);
  const std::span<float> null_output(static_cast<float*>(nullptr), 6);
  values_ = null_input;
  expect_forward_error({"values", "null"});
  expect_backward_error({"values", "null"});
  values_ = values_memory_;
  d_values_ = null_output;
  expect_backward_error({"d_values", "null"});
  d_values_ = d_values_memory_;
  bias_ = null_input.first(3);
  expect_forward_error({"bias", "null"});
  d_bias_ = null_output.first(3);
  expect_backward_error({"d_bias", "null"});
}

TEST_F(LayerErrors, WrongLengthsAreNamed) {
  values_ = values_.first(5);
  expect_forward_error({"values", "5", "6"});
  expect_backward_error({"values", "5", "6"});
  values_ = {};
  expect_forward_error({"values", "0", "6"});
  values_ = values_memory_;
  bias_ = bias_.first(2);
  expect_forward_error({"bias", "2", "3"});
  d_values_ = d_values_.first(1);
  expect_backward_error({"d_values", "1", "6"});
  d_values_ = d_values_memory_;
  d_bias_ = d_bias_.first(1);
  expect_backward_error({"d_bias", "1", "3"});
}

TEST_F(LayerErrors, OutputsThatOverlapThemselvesAreNamed) {
  y_.batch_stride = 0;
  expect_forward_error({"y", "(0, 1)"});
  y_.batch_stride = 2;
  expect_forward_error({"y", "(2, 1)"});
  dx_.feature_stride = 0;
  expect_backward_error({"dx", "(4, 0)"});
  dx_.feature_stride = -4;
  expect_backward_error({"dx", "(4, -4)"});
}

TEST_F(LayerErrors, StridesBeyondMemoryAreNamed) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  x_.batch_stride = kHuge;
  expect_forward_error({"x", std::to_string(kHuge)});
  expect_backward_error({"x", std::to_string(kHuge)});
  x_.batch_stride = std::numeric_limits<int64_t>::min();
  expect_forward_error({"x", "-9223372036854775808"});
}

TEST_F(LayerErrors, MisalignedTensorsAreNamed) {
  auto* bytes = reinterpret_cast<char*>(x_memory_.data());
  x_.data = reinterpret_cast<const float*>(bytes + 2);
  x_.batch = y_.batch = 1;
  expect_forward_error({"x", "aligned"});
}

TEST_F(LayerErrors, OutputsOverTheInputsAreNamed) {
  y_ = row_major(x_memory_.data(), 2, 3);
  expect_forward_error({"y", "x"});
  dx_ = row_major(x_memory_.data(), 2, 4);
  expect_backward_error({"dx", "x"});
}

TEST_F(LayerErrors, SetMaskOfAnotherShapeIsNamedAndChangesNothing) {
  const Mask before = layer_.mask();
  expect_error([&] { layer_.set_mask(Mask::random({4, 3}, 0.5, 1)); }, {"4x3", "3x4"});
  EXPECT_EQ(layer_.mask(), before);
  layer_.run_forward(x_, values_, bias_, y_);
  EXPECT_NE(y_memory_[0], kUntouched);
}

TEST(LayerOptionErrors, WrongOptionsAreNamed) {
  Runtime runtime(with_threads(1));
  const auto compile = [&](int64_t batch, int64_t pitch) {
    LayerOptions options;
    options.runtime = &runtime;
    options.batch = batch;
    options.pitch = pitch;
    compile_layer(Mask::random({4, 4}, 0.5, 1), options);
  };
  expect_error([&] { compile(-3, 0); }, {"batch", "-3"});
  expect_error([&] { compile(16, 8); }, {"pitch", "8", "16"});
  expect_error([&] { compile(16, -16); }, {"pitch", "-16"});
}

TEST(RuntimeOptionErrors, WrongOptionsAreNamed) {
  expect_error([] { Runtime runtime(with_threads(-1)); }, {"threads", "-1"});
  expect_error([] { Runtime runtime(with_threads(1000000)); }, {"threads", "1000000"});
  expect_error([] { Runtime runtime(with_code_budget(-5)); }, {"code_budget_bytes", "-5"});
}

}  // namespace
}  // namespace sparsejit::test
