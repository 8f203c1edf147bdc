// See soak_layer.h.
#include "soak/soak_layer.h"

#include <gtest/gtest.h>

#include "support/conv_case.h"
#include "support/layer_case.h"
#include "support/mask_edits.h"
#include "support/random.h"

namespace sparsejit::test {
namespace {

constexpr double kDense = 0.5;
constexpr double kSparse = 0.9;

}  // namespace

const std::vector<SoakSpec>& soak_specs() {
  static const std::vector<SoakSpec> all = {
      {.name = "linear, native", .shape = {96, 64}, .images = 24, .engine = Engine::native},
      {.name = "linear, automatic", .shape = {64, 80}, .images = 100},
      {.name = "linear, compiled in the background",
       .shape = {80, 90},
       .images = 50,
       .engine = Engine::native,
       .compile = CompileMode::background},
      {.name = "conv 3x3, native",
       .shape = {16, 8, 3, 3},
       .is_conv = true,
       .conv = {.padding = 1},
       .images = 2,
       .size = {9, 11},
       .engine = Engine::native},
      {.name = "conv stride 2, groups 2, automatic",
       .shape = {12, 4, 3, 3},
       .is_conv = true,
       .conv = {.stride = 2, .padding = 1, .groups = 2},
       .images = 3,
       .size = {12, 10}},
  };
  return all;
}

SoakLayer::SoakLayer(const SoakSpec& spec, Runtime& runtime)
    : spec_(spec),
      dense_(Mask::random(spec.shape, kDense, 1)),
      sparse_(Mask::random(spec.shape, kSparse, 2)),
      layer_(compile(dense_, spec.engine, runtime)),
      out_(spec.is_conv ? layer_.output_size(spec.size) : ImageSize{}),
      values_(random_floats(dense_.nnz(), 3)),
      bias_(random_floats(spec.shape.out, 4)),
      d_bias_(bias_.size()) {
  const int64_t in_floats =
      spec.images * spec.shape.in * spec.conv.groups * spec.size.height * spec.size.width;
  const int64_t out_floats = spec.images * spec.shape.out * out_.height * out_.width;
  x_ = random_floats(in_floats, 5);
  dy_ = random_floats(out_floats, 6);
  dx_.resize(x_.size());
  y_.resize(dy_.size());
}

Layer SoakLayer::compile(const Mask& mask, Engine engine, Runtime& runtime) const {
  LayerOptions options;
  options.engine = engine;
  options.compile = spec_.compile;
  options.runtime = &runtime;
  return spec_.is_conv ? compile_layer(mask, spec_.conv, options) : compile_layer(mask, options);
}

int64_t SoakLayer::change(int64_t number) {
  const auto seed = static_cast<uint64_t>(number) + 100;
  const auto next = [&] {
    if (number % 4 == 0) return dense_;
    if (number % 4 == 2) return sparse_;
    if (number % 4 == 3) return with_other_last_rows(layer_.mask(), 2, seed);
    return Mask::random(spec_.shape, kSparse, seed);
  };
  const MaskChange change = layer_.set_mask(next());
  values_ = change.move(values_, 0.25F);
  run();
  return change.kernels_generated;
}

void SoakLayer::run() {
  d_values_.resize(values_.size());
  const int64_t n = spec_.images;
  const int64_t in = spec_.shape.in * spec_.conv.groups;
  const int64_t out = spec_.shape.out;
  if (!spec_.is_conv) {
    const auto x = row_major<const float>(x_.data(), n, in);
    layer_.run_forward(x, values_, bias_, row_major(y_.data(), n, out));
    layer_.run_backward(x, row_major<const float>(dy_.data(), n, out), values_,
                        row_major(dx_.data(), n, in), d_values_, d_bias_);
    return;
  }
  const auto x = nchw<const float>(x_.data(), n, in, spec_.size.height, spec_.size.width);
  layer_.run_forward(x, values_, bias_, nchw(y_.data(), n, out, out_.height, out_.width));
  layer_.run_backward(x, nchw<const float>(dy_.data(), n, out, out_.height, out_.width), values_,
                      nchw(dx_.data(), n, in, spec_.size.height, spec_.size.width), d_values_,
                      d_bias_);
}

void SoakLayer::check(Runtime& portable, uint64_t seed) const {
  SCOPED_TRACE(spec_.name);
  const Layer plain = compile(layer_.mask(), Engine::portable, portable);
  for (const Layer* layer : {&layer_, &plain}) {
    if (spec_.is_conv) {
      ConvCase c{.mask = layer_.mask(), .conv = spec_.conv};
      c.images = spec_.images;
      c.size = spec_.size;
      c.seed = seed;
      expect_matches_reference(c, run_conv(*layer, c));
    } else {
      LayerCase c{.mask = layer_.mask(), .batch = spec_.images};
      c.seed = seed;
      expect_matches_reference(c, run_layer(*layer, c));
    }
  }
}

}  // namespace sparsejit::test
