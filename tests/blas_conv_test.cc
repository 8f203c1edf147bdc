// The dense convolution against seven nested loops in double, over the geometries there are.
#include "train/blas_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "train/random.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

struct Case {
  MaskShape shape;
  Conv2d conv;
  ImageSize image;
};

const Case kCases[] = {
    {{3, 2, 3, 3}, {.padding = 1}, {5, 4}},
    {{4, 2, 3, 2}, {.stride = {2, 3}, .padding = {1, 2, 0, 1}, .dilation = {1, 2}}, {7, 9}},
    {{4, 3, 2, 2}, {.padding = Padding2d::same(), .groups = 2}, {4, 4}},
    {{5, 3}, {}, {3, 3}},
    {{5, 3}, {}, {1, 1}},
    {{2, 1, 3, 3}, {.padding = 4}, {2, 2}},
    {{1, 1, 2, 2}, {.stride = 2}, {4, 4}},
};

std::vector<float> draw(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = random.symmetric(1.0F);
  return values;
}

// Channel after channel, the images of each one after another.
template <typename T>
BasicImageView<T> channel_major(T* data, int64_t images, int64_t channels, ImageSize size) {
  const int64_t pixels = size.height * size.width;
  return {data, images, channels, size.height, size.width, pixels, images * pixels, size.width, 1};
}

template <typename T>
T& at(const BasicImageView<T>& view, int64_t image, int64_t channel, int64_t row, int64_t column) {
  return view.data[image * view.image_stride + channel * view.channel_stride +
                   row * view.row_stride + column * view.pixel_stride];
}

// visit(weight index, image, input channel, input row, input column, output channel, p, q)
template <typename Visit>
void for_each_product(const Case& c, int64_t images, Visit visit) {
  const Conv2d conv = resolve_conv2d(c.shape, c.conv);
  const ImageSize out = output_size(c.shape, conv, c.image);
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t oc = 0; oc < c.shape.out; ++oc) {
      for (int64_t column = 0; column < c.shape.cols(); ++column) {
        const int64_t j = column % c.shape.kernel_w;
        const int64_t i = column / c.shape.kernel_w % c.shape.kernel_h;
        const int64_t group = oc / (c.shape.out / conv.groups);
        const int64_t ic = group * c.shape.in + column / c.shape.kernel_w / c.shape.kernel_h;
        for (int64_t p = 0; p < out.height; ++p) {
          for (int64_t q = 0; q < out.width; ++q) {
            const int64_t row = p * conv.stride.h + i * conv.dilation.h - conv.padding.top;
            const int64_t col = q * conv.stride.w + j * conv.dilation.w - conv.padding.left;
            if (row < 0 || row >= c.image.height || col < 0 || col >= c.image.width) continue;
            visit(oc * c.shape.cols() + column, n, ic, row, col, oc, p, q);
          }
        }
      }
    }
  }
}

void expect_near(const std::vector<float>& actual, const std::vector<double>& expected) {
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
}

using MakeView = ImageView (*)(float*, int64_t, int64_t, ImageSize);

ImageView make_nchw(float* data, int64_t images, int64_t channels, ImageSize size) {
  return nchw(data, images, channels, size.height, size.width);
}

void expect_matches_loops(const Case& c, MakeView make_view) {
  constexpr int64_t kImages = 3;
  const ImageSize out = output_size(c.shape, resolve_conv2d(c.shape, c.conv), c.image);
  const int64_t channels = c.shape.in * c.conv.groups;
  std::vector<float> w = draw(c.shape.rows() * c.shape.cols(), 1);
  std::vector<float> x = draw(kImages * channels * c.image.height * c.image.width, 2);
  std::vector<float> dy = draw(kImages * c.shape.out * out.height * out.width, 3);
  std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN), dw(w.size(), NAN);
  const ImageView x_view = make_view(x.data(), kImages, channels, c.image);
  const ImageView y_view = make_view(y.data(), kImages, c.shape.out, out);
  const ImageView dx_view = make_view(dx.data(), kImages, channels, c.image);
  const ImageView dy_view = make_view(dy.data(), kImages, c.shape.out, out);
  BlasConv dense(c.shape, c.conv);
  dense.run_forward(w.data(), x_view, y_view);
  dense.run_backward_input(w.data(), dy_view, dx_view);
  dense.run_backward_weight(x_view, dy_view, dw.data());

  std::vector<double> y_sum(y.size()), dx_sum(x.size()), dw_sum(w.size());
  for_each_product(c, kImages,
                   [&](int64_t weight, int64_t n, int64_t ic, int64_t row, int64_t column,
                       int64_t oc, int64_t p, int64_t q) {
                     const auto index = static_cast<size_t>(weight);
                     const auto in =
                         static_cast<size_t>(&at(x_view, n, ic, row, column) - x.data());
                     const auto to = static_cast<size_t>(&at(y_view, n, oc, p, q) - y.data());
                     y_sum[to] += double{w[index]} * x[in];
                     dx_sum[in] += double{w[index]} * dy[to];
                     dw_sum[index] += double{x[in]} * dy[to];
                   });
  expect_near(y, y_sum);
  expect_near(dx, dx_sum);
  expect_near(dw, dw_sum);
}

TEST(BlasConv, MatchesLoopsInEveryGeometryAndLayout) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(to_text(c.shape));
    expect_matches_loops(c, make_nchw);
    expect_matches_loops(c, channel_major<float>);
  }
}

}  // namespace
}  // namespace sparsejit::test
