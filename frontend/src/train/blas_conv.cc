// Blocks of images, group by group; see blas_conv.h. Read run_forward first.
#include "train/blas_conv.h"

#include <algorithm>

#include "sparsejit/error.h"
#include "train/im2col.h"

namespace sparsejit::frontend {
namespace {

// Columns of a block, 2 MiB: larger and smaller ones made a step of training up to 10% slower (32
// to 128 channels, 8x8 images, Zen 4).
constexpr int64_t kBlockFloats = int64_t{1} << 19;

template <typename T>
BasicImageView<T> slice(BasicImageView<T> view, int64_t first, int64_t images, int64_t channel,
                        int64_t channels) {
  view.data += first * view.image_stride + channel * view.channel_stride;
  view.images = images;
  view.channels = channels;
  return view;
}

bool has_dense_planes(ConstImageView x) { return x.pixel_stride == 1 && x.row_stride == x.width; }

// The images of each channel are one row of a matrix.
bool images_follow(ConstImageView x) {
  const int64_t pixels = x.height * x.width;
  return x.image_stride == pixels && x.channel_stride >= x.images * pixels;
}

void set_zero(ImageView x) {
  for (int64_t image = 0; image < x.images; ++image) {
    for (int64_t channel = 0; channel < x.channels; ++channel) {
      for (int64_t row = 0; row < x.height; ++row) {
        float* pixel =
            x.data + image * x.image_stride + channel * x.channel_stride + row * x.row_stride;
        for (int64_t i = 0; i < x.width; ++i) pixel[i * x.pixel_stride] = 0.0F;
      }
    }
  }
}

}  // namespace

BlasConv::BlasConv(const MaskShape& shape, const Conv2d& conv)
    : shape_(shape), conv_(resolve_conv2d(shape, conv)) {}

bool BlasConv::uses_input(ConstImageView x) const {
  return shape_.kernel_h == 1 && shape_.kernel_w == 1 && conv_.stride == PerAxis(1) &&
         conv_.padding == Padding2d(0) && has_dense_planes(x);
}

int64_t BlasConv::images_per_block(ConstImageView x, ConstImageView y) const {
  if (!images_follow(y)) return 1;
  if (uses_input(x)) return images_follow(x) ? y.images : 1;
  const int64_t image_floats = shape_.cols() * y.height * y.width;
  return std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(image_floats, 1), 1, y.images);
}

DenseShape BlasConv::product_shape(ConstImageView y) const {
  return {.out = shape_.out / conv_.groups,
          .in = shape_.cols(),
          .batch = y.images * y.height * y.width};
}

// Never shrinks: growing again would fill the new part with zeros.
void BlasConv::reserve_columns(int64_t pixels) {
  const auto floats = static_cast<size_t>(shape_.cols() * pixels);
  if (columns_.size() < floats) columns_.resize(floats);
}

BlasConv::Matrix BlasConv::to_columns(ConstImageView x, int64_t pixels) {
  if (uses_input(x)) return {x.data, x.channel_stride};
  reserve_columns(pixels);
  im2col(shape_, conv_, x, columns_.data(), pixels);
  return {columns_.data(), pixels};
}

template <typename X, typename Y, typename Visit>
void BlasConv::for_each_block(BasicImageView<X> x, BasicImageView<Y> y, Visit visit) const {
  SPARSEJIT_CHECK(has_dense_planes(y), ==, true);
  const int64_t outs = shape_.out / conv_.groups;
  const int64_t block = images_per_block(x, y);
  for (int64_t group = 0; group < conv_.groups; ++group) {
    for (int64_t first = 0; first < y.images; first += block) {
      const int64_t images = std::min(block, y.images - first);
      visit(group * outs * shape_.cols(), slice(x, first, images, group * shape_.in, shape_.in),
            slice(y, first, images, group * outs, outs));
    }
  }
}

void BlasConv::run_forward(const float* w, ConstImageView x, ImageView y) {
  for_each_block(x, y, [&](int64_t rows, ConstImageView from, ImageView to) {
    const DenseShape product = product_shape(to);
    const Matrix columns = to_columns(from, product.batch);
    dense_forward(product, w + rows, columns.data, columns.pitch, to.data, to.channel_stride);
  });
}

void BlasConv::run_backward_input(const float* w, ConstImageView dy, ImageView dx) {
  const bool direct = uses_input(dx);
  if (!direct) set_zero(dx);
  for_each_block(dx, dy, [&](int64_t rows, ImageView to, ConstImageView from) {
    const DenseShape product = product_shape(from);
    if (!direct) reserve_columns(product.batch);
    float* columns = direct ? to.data : columns_.data();
    const int64_t pitch = direct ? to.channel_stride : product.batch;
    dense_backward_input(product, w + rows, from.data, from.channel_stride, columns, pitch);
    if (!direct) col2im_add(shape_, conv_, columns, pitch, to);
  });
}

void BlasConv::run_backward_weight(ConstImageView x, ConstImageView dy, float* dw) {
  std::fill_n(dw, shape_.out * shape_.cols(), 0.0F);
  for_each_block(x, dy, [&](int64_t rows, ConstImageView from, ConstImageView gradient) {
    const DenseShape product = product_shape(gradient);
    const Matrix columns = to_columns(from, product.batch);
    dense_add_backward_weight(product, gradient.data, gradient.channel_stride, columns.data,
                              columns.pitch, dw + rows);
  });
}

}  // namespace sparsejit::frontend
