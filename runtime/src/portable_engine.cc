#include "portable_engine.h"

#include <algorithm>
#include <cmath>

namespace sparsejit {
namespace {

template <typename T>
T& pixel(const BasicImageView<T>& view, int64_t image, int64_t channel, int64_t row,
         int64_t column) {
  return view.data[image * view.image_stride + channel * view.channel_stride +
                   row * view.row_stride + column * view.pixel_stride];
}

template <typename T>
BasicImageView<T> slice_images(BasicImageView<T> view, int64_t first, int64_t last) {
  if (view.empty()) return view;
  view.data += first * view.image_stride;
  view.images = last - first;
  return view;
}

// Calls call(image, row, column) for all pixels.
template <typename T, typename Call>
void for_each_pixel(const BasicImageView<T>& view, const Call& call) {
  for (int64_t image = 0; image < view.images; ++image) {
    for (int64_t row = 0; row < view.height; ++row) {
      for (int64_t column = 0; column < view.width; ++column) call(image, row, column);
    }
  }
}

float gated(const ConstImageView& dy, const ConstImageView& gate, int64_t image, int64_t channel,
            int64_t row, int64_t column) {
  if (!gate.empty() && pixel(gate, image, channel, row, column) <= 0.0F) return 0.0F;
  return pixel(dy, image, channel, row, column);
}

// One stored weight: where it is and which input pixels it reads.
class Weight {
 public:
  Weight(const LayerSpec& spec, int64_t row, int64_t index) : conv_(spec.conv) {
    const MaskShape& shape = spec.mask.shape();
    const int64_t column = spec.mask.columns()[index];
    const int64_t position = column % (shape.kernel_h * shape.kernel_w);
    const int64_t group = row / (shape.out / conv_.groups);
    channel_ = group * shape.in + column / (shape.kernel_h * shape.kernel_w);
    row_offset_ = position / shape.kernel_w * conv_.dilation.h - conv_.padding.top;
    column_offset_ = position % shape.kernel_w * conv_.dilation.w - conv_.padding.left;
  }

  int64_t channel() const { return channel_; }

  // Calls call(image, y row, y column, x row, x column) for all pixels that are not padding.
  template <typename X, typename Y, typename Call>
  void for_each_product(const BasicImageView<X>& x, const BasicImageView<Y>& y,
                        const Call& call) const {
    for_each_pixel(y, [&](int64_t image, int64_t row, int64_t column) {
      const int64_t x_row = row * conv_.stride.h + row_offset_;
      const int64_t x_column = column * conv_.stride.w + column_offset_;
      if (x_row < 0 || x_row >= x.height || x_column < 0 || x_column >= x.width) return;
      call(image, row, column, x_row, x_column);
    });
  }

 private:
  const Conv2d& conv_;
  int64_t channel_ = 0;
  int64_t row_offset_ = 0;
  int64_t column_offset_ = 0;
};

}  // namespace

void portable_forward(const LayerSpec& spec, const ConstImageView& x, std::span<const float> values,
                      std::span<const float> bias, bool relu, const ImageView& y, int64_t first,
                      int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const float start = bias.empty() ? 0.0F : bias[row];
    for_each_pixel(y, [&](int64_t n, int64_t p, int64_t q) { pixel(y, n, row, p, q) = start; });
    for (int64_t i = spec.mask.row_begin()[row]; i < spec.mask.row_begin()[row + 1]; ++i) {
      const Weight weight(spec, row, i);
      weight.for_each_product(x, y, [&](int64_t n, int64_t p, int64_t q, int64_t h, int64_t w) {
        pixel(y, n, row, p, q) += values[i] * pixel(x, n, weight.channel(), h, w);
      });
    }
    if (!relu) continue;
    for_each_pixel(y, [&](int64_t n, int64_t p, int64_t q) {
      float& value = pixel(y, n, row, p, q);
      if (value < 0.0F) value = 0.0F;
    });
  }
}

void portable_value_gradient(const LayerSpec& spec, const ConstImageView& x,
                             const ConstImageView& dy, const ConstImageView& gate,
                             std::span<float> d_values, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    for (int64_t i = spec.mask.row_begin()[row]; i < spec.mask.row_begin()[row + 1]; ++i) {
      const Weight weight(spec, row, i);
      float sum = 0.0F;
      weight.for_each_product(x, dy, [&](int64_t n, int64_t p, int64_t q, int64_t h, int64_t w) {
        sum += gated(dy, gate, n, row, p, q) * pixel(x, n, weight.channel(), h, w);
      });
      d_values[i] = sum;
    }
  }
}

void portable_input_gradient(const LayerSpec& spec, const ConstImageView& dy,
                             const ConstImageView& gate, std::span<const float> values,
                             const ImageView& dx, int64_t first, int64_t last) {
  const ImageView some_dx = slice_images(dx, first, last);
  const ConstImageView some_dy = slice_images(dy, first, last);
  const ConstImageView some_gate = slice_images(gate, first, last);
  for_each_pixel(some_dx, [&](int64_t n, int64_t h, int64_t w) {
    for (int64_t c = 0; c < dx.channels; ++c) pixel(some_dx, n, c, h, w) = 0.0F;
  });
  for (int64_t row = 0; row < spec.mask.rows(); ++row) {
    for (int64_t i = spec.mask.row_begin()[row]; i < spec.mask.row_begin()[row + 1]; ++i) {
      const Weight weight(spec, row, i);
      weight.for_each_product(some_dx, some_dy,
                              [&](int64_t n, int64_t p, int64_t q, int64_t h, int64_t w) {
                                pixel(some_dx, n, weight.channel(), h, w) +=
                                    values[i] * gated(some_dy, some_gate, n, row, p, q);
                              });
    }
  }
}

void portable_bias_gradient(const ConstImageView& dy, const ConstImageView& gate,
                            std::span<float> d_bias, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    float sum = 0.0F;
    for_each_pixel(dy,
                   [&](int64_t n, int64_t p, int64_t q) { sum += gated(dy, gate, n, row, p, q); });
    d_bias[row] = sum;
  }
}

}  // namespace sparsejit
