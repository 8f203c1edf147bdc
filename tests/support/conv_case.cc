#include "support/conv_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/random.h"

namespace sparsejit::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ImageTensor input_tensor(ImageArrangement arrangement, int64_t images, int64_t channels,
                         ImageSize size, Edge edge, std::vector<float>& contents) {
  ImageTensor tensor(arrangement, images, channels, size, edge);
  tensor.write(contents);
  contents = tensor.read();
  tensor.make_read_only();
  return tensor;
}

ImageTensor output_tensor(ImageArrangement arrangement, int64_t images, int64_t channels,
                          ImageSize size, Edge edge) {
  ImageTensor tensor(arrangement, images, channels, size, edge);
  tensor.fill(kNan);
  return tensor;
}

std::vector<float> contents_of(const ImageTensor& tensor, const char* name) {
  EXPECT_TRUE(tensor.gaps_intact()) << name << ": written outside its elements";
  return tensor.read();
}

std::vector<float> contents_of(const GuardedBuffer& buffer, const char* name) {
  EXPECT_TRUE(buffer.canary_intact()) << name << ": written outside";
  return {buffer.floats().begin(), buffer.floats().end()};
}

ImageSize output_of(const ConvCase& c) {
  return output_size(c.mask.shape(), resolve_conv2d(c.mask.shape(), c.conv), c.size);
}

}  // namespace

std::string to_text(const ConvCase& c) {
  return fmt::format(
      "mask {} with {} stored, {} images {}x{}, stride {}x{}, padding {} {} {} {}{}, dilation "
      "{}x{}, groups {}, x {}, y {}, dy {}, dx {}{}{}{}{}",
      to_text(c.mask.shape()), c.mask.nnz(), c.images, c.size.height, c.size.width, c.conv.stride.h,
      c.conv.stride.w, c.conv.padding.top, c.conv.padding.bottom, c.conv.padding.left,
      c.conv.padding.right, c.conv.padding.is_same ? " (same)" : "", c.conv.dilation.h,
      c.conv.dilation.w, c.conv.groups, to_text(c.x), to_text(c.y), to_text(c.dy),
      c.with_dx ? to_text(c.dx) : "none", c.with_d_values ? "" : ", no d_values",
      c.with_bias ? "" : ", no bias", c.relu ? ", ReLU" : "",
      c.edge == Edge::end ? ", flush to the end" : ", flush to the start");
}

LayerRun run_conv(const Layer& layer, const ConvCase& c) {
  const int64_t rows = c.mask.rows();
  const ImageSize out = output_of(c);
  const int64_t in_floats = c.images * c.in_channels() * c.size.height * c.size.width;
  const int64_t out_floats = c.images * rows * out.height * out.width;
  LayerRun run;
  run.inputs = {.x = random_floats(in_floats, 4 * c.seed),
                .dy = random_floats(out_floats, 4 * c.seed + 1),
                .values = random_floats(c.mask.nnz(), 4 * c.seed + 2),
                .bias = random_floats(c.with_bias ? rows : 0, 4 * c.seed + 3)};
  const ImageTensor x = input_tensor(c.x, c.images, c.in_channels(), c.size, c.edge, run.inputs.x);
  const ImageTensor dy = input_tensor(c.dy, c.images, rows, out, c.edge, run.inputs.dy);
  const ImageTensor y = output_tensor(c.y, c.images, rows, out, c.edge);
  const ImageTensor dx =
      output_tensor(c.dx, c.images, c.with_dx ? c.in_channels() : 0, c.size, c.edge);
  GuardedBuffer values(c.mask.nnz(), c.edge);
  std::copy(run.inputs.values.begin(), run.inputs.values.end(), values.data());
  values.make_read_only();
  GuardedBuffer d_values(c.with_d_values ? c.mask.nnz() : 0, c.edge);
  GuardedBuffer d_bias(rows, c.edge);
  d_values.fill(kNan);
  d_bias.fill(kNan);
  layer.run_forward(x.view(), std::as_const(values).floats(), run.inputs.bias, y.view());
  run.outputs.y = contents_of(y, "y");
  layer.run_backward(x.view(), dy.view(), std::as_const(values).floats(),
                     c.with_dx ? dx.view() : ImageView{}, d_values.floats(), d_bias.floats(),
                     c.relu ? y.view() : ImageView{});
  run.outputs.dx = contents_of(dx, "dx");
  run.outputs.d_values = contents_of(d_values, "d_values");
  run.outputs.d_bias = contents_of(d_bias, "d_bias");
  return run;
}

// With ReLU the reference of y is made from the sums before it, and the gradient passes where the
// y that the layer wrote is positive: near zero both signs are right.
LayerReference reference_conv(const ConvCase& c, const LayerRun& run) {
  const MaskShape& shape = c.mask.shape();
  const Conv2d conv = resolve_conv2d(shape, c.conv);
  const ImageSize out = output_of(c);
  LayerReference result;
  result.y.resize(run.outputs.y.size());
  result.dx.resize(run.inputs.x.size());
  result.d_values.resize(static_cast<size_t>(c.mask.nnz()));
  result.d_bias.resize(static_cast<size_t>(shape.out));
  const int64_t kernel = shape.kernel_h * shape.kernel_w;
  for (int64_t n = 0; n < c.images; ++n) {
    for (int64_t row = 0; row < shape.out; ++row) {
      const int64_t group = row / (shape.out / conv.groups);
      for (int64_t p = 0; p < out.height; ++p) {
        for (int64_t q = 0; q < out.width; ++q) {
          const int64_t at = ((n * shape.out + row) * out.height + p) * out.width + q;
          if (!run.inputs.bias.empty()) result.y[at].add(run.inputs.bias[row]);
          const bool passes = !c.relu || run.outputs.y[at] > 0;
          const double dy = passes ? run.inputs.dy[at] : 0;
          result.d_bias[row].add(dy);
          for (int64_t i = c.mask.row_begin()[row]; i < c.mask.row_begin()[row + 1]; ++i) {
            const int64_t column = c.mask.columns()[i];
            const int64_t h = p * conv.stride.h - conv.padding.top +
                              column % kernel / shape.kernel_w * conv.dilation.h;
            const int64_t w =
                q * conv.stride.w - conv.padding.left + column % shape.kernel_w * conv.dilation.w;
            if (h < 0 || h >= c.size.height || w < 0 || w >= c.size.width) continue;
            const int64_t channel = group * shape.in + column / kernel;
            const int64_t from =
                ((n * c.in_channels() + channel) * c.size.height + h) * c.size.width + w;
            const double x = run.inputs.x[from];
            result.y[at].add(x * run.inputs.values[i]);
            result.dx[from].add(dy * run.inputs.values[i]);
            result.d_values[i].add(dy * x);
          }
        }
      }
    }
  }
  if (c.relu) {
    for (ReferenceSum& y : result.y) y.sum = std::max(0.0, y.sum);
  }
  return result;
}

void expect_matches_reference(const ConvCase& c, const LayerRun& run) {
  const LayerReference reference = reference_conv(c, run);
  expect_near(run.outputs.y, reference.y, "y");
  if (c.with_dx) expect_near(run.outputs.dx, reference.dx, "dx");
  if (c.with_d_values) expect_near(run.outputs.d_values, reference.d_values, "d_values");
  expect_near(run.outputs.d_bias, reference.d_bias, "d_bias");
}

Layer forced_conv(const ConvCase& c, Engine engine, Runtime& runtime) {
  LayerOptions options;
  options.engine = engine;
  options.relu = c.relu;
  options.runtime = &runtime;
  return compile_layer(c.mask, c.conv, options);
}

}  // namespace sparsejit::test
