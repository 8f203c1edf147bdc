// Both kernels of the paper for convolutions; see paper_conv.h. Compiled with -mavx2 -mfma, so it
// must not be entered on a machine without them.
#include "bench/paper_conv.h"

#include "bench/paper_vector.h"

namespace sparsejit::frontend {
namespace {

// Outputs of an axis whose input, output * stride + offset, exists: [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
};

Range inside(int64_t inputs, int64_t outputs, int64_t stride, int64_t offset) {
  const int64_t begin = offset < 0 ? (stride - 1 - offset) / stride : 0;
  const int64_t end = inputs > offset ? (inputs - offset + stride - 1) / stride : 0;
  return {begin, end < outputs ? end : outputs};
}

Range rows_inside(const PaperConv& conv, const PaperTap& tap) {
  return inside(conv.in_height, conv.out_height, conv.row_stride, tap.row);
}

Range columns_inside(const PaperConv& conv, const PaperTap& tap) {
  return inside(conv.in_width, conv.out_width, conv.column_stride, tap.column);
}

int64_t in_pixels(const PaperConv& conv) { return conv.in_height * conv.in_width; }
int64_t out_pixels(const PaperConv& conv) { return conv.out_height * conv.out_width; }

// First input pixel of a row of one tap, within its channel.
int64_t input_pixel(const PaperConv& conv, const PaperTap& tap, int64_t row, int64_t column) {
  return (row * conv.row_stride + tap.row) * conv.in_width + column * conv.column_stride +
         tap.column;
}

// Forward of one weight on one image; x and y are the channels'.
void rows_forward_tap(const PaperConv& conv, const PaperTap& tap, float w, const float* x,
                      float* y) {
  const Range rows = rows_inside(conv, tap);
  const Range columns = columns_inside(conv, tap);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    forward_run(w, x + input_pixel(conv, tap, row, columns.begin),
                y + row * conv.out_width + columns.begin, columns.end - columns.begin);
  }
}

void rows_backward_tap(const PaperConv& conv, const PaperTap& tap, float w, const float* x,
                       const float* dy, float* dx, WeightGradient& gradient) {
  const Range rows = rows_inside(conv, tap);
  const Range columns = columns_inside(conv, tap);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t from = input_pixel(conv, tap, row, columns.begin);
    const float* dy_row = dy + row * conv.out_width + columns.begin;
    const int64_t length = columns.end - columns.begin;
    if (dx == nullptr) {
      backward_weight_run(x + from, dy_row, length, gradient);
    } else {
      backward_run(w, x + from, dy_row, dx + from, length, gradient);
    }
  }
}

void batch_forward_tap(const PaperConv& conv, const PaperTap& tap, float w, const float* x,
                       float* y) {
  const int64_t pitch = paper_batch_pitch(conv.images);
  const Range rows = rows_inside(conv, tap);
  const Range columns = columns_inside(conv, tap);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t column = columns.begin; column < columns.end; ++column) {
      forward_run(w, x + input_pixel(conv, tap, row, column) * pitch,
                  y + (row * conv.out_width + column) * pitch, pitch);
    }
  }
}

void batch_backward_tap(const PaperConv& conv, const PaperTap& tap, float w, const float* x,
                        const float* dy, float* dx, WeightGradient& gradient) {
  const int64_t pitch = paper_batch_pitch(conv.images);
  const Range rows = rows_inside(conv, tap);
  const Range columns = columns_inside(conv, tap);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t column = columns.begin; column < columns.end; ++column) {
      const int64_t from = input_pixel(conv, tap, row, column) * pitch;
      const float* dy_pixel = dy + (row * conv.out_width + column) * pitch;
      if (dx == nullptr) {
        backward_weight_run(x + from, dy_pixel, pitch, gradient);
      } else {
        backward_run(w, x + from, dy_pixel, dx + from, pitch, gradient);
      }
    }
  }
}

}  // namespace

void paper_rows_forward(const PaperConv& conv, const float* x, const float* bias, float* y) {
  for (int64_t image = 0; image < conv.images; ++image) {
    const float* x_image = x + image * conv.in * in_pixels(conv);
    for (int64_t out = 0; out < conv.out; ++out) {
      float* y_channel = y + (image * conv.out + out) * out_pixels(conv);
      fill_run(y_channel, out_pixels(conv), bias == nullptr ? 0.0F : bias[out]);
      for (int64_t i = conv.row_begin[out]; i < conv.row_begin[out + 1]; ++i) {
        const PaperTap& tap = conv.taps[i];
        rows_forward_tap(conv, tap, conv.values[i], x_image + tap.channel * in_pixels(conv),
                         y_channel);
      }
    }
  }
}

void paper_rows_backward(const PaperConv& conv, const float* x, const float* dy, float* dx,
                         float* d_values) {
  fill_run(d_values, conv.row_begin[conv.out], 0.0F);
  if (dx != nullptr) fill_run(dx, conv.images * conv.in * in_pixels(conv), 0.0F);
  for (int64_t image = 0; image < conv.images; ++image) {
    for (int64_t out = 0; out < conv.out; ++out) {
      const float* dy_channel = dy + (image * conv.out + out) * out_pixels(conv);
      for (int64_t i = conv.row_begin[out]; i < conv.row_begin[out + 1]; ++i) {
        const PaperTap& tap = conv.taps[i];
        const int64_t channel = (image * conv.in + tap.channel) * in_pixels(conv);
        WeightGradient gradient;
        rows_backward_tap(conv, tap, conv.values[i], x + channel, dy_channel,
                          dx == nullptr ? nullptr : dx + channel, gradient);
        d_values[i] += gradient.sum();
      }
    }
  }
}

void paper_batch_forward(const PaperConv& conv, const float* x, const float* bias, float* y) {
  const int64_t pitch = paper_batch_pitch(conv.images);
  for (int64_t out = 0; out < conv.out; ++out) {
    float* y_channel = y + out * out_pixels(conv) * pitch;
    fill_run(y_channel, out_pixels(conv) * pitch, bias == nullptr ? 0.0F : bias[out]);
    for (int64_t i = conv.row_begin[out]; i < conv.row_begin[out + 1]; ++i) {
      const PaperTap& tap = conv.taps[i];
      batch_forward_tap(conv, tap, conv.values[i], x + tap.channel * in_pixels(conv) * pitch,
                        y_channel);
    }
  }
}

void paper_batch_backward(const PaperConv& conv, const float* x, const float* dy, float* dx,
                          float* d_values) {
  const int64_t pitch = paper_batch_pitch(conv.images);
  if (dx != nullptr) fill_run(dx, conv.in * in_pixels(conv) * pitch, 0.0F);
  for (int64_t out = 0; out < conv.out; ++out) {
    const float* dy_channel = dy + out * out_pixels(conv) * pitch;
    for (int64_t i = conv.row_begin[out]; i < conv.row_begin[out + 1]; ++i) {
      const PaperTap& tap = conv.taps[i];
      const int64_t channel = tap.channel * in_pixels(conv) * pitch;
      WeightGradient gradient;
      batch_backward_tap(conv, tap, conv.values[i], x + channel, dy_channel,
                         dx == nullptr ? nullptr : dx + channel, gradient);
      d_values[i] = gradient.sum();
    }
  }
}

int64_t paper_batch_pitch(int64_t images) { return (images + kLanes - 1) / kLanes * kLanes; }

// Blocks of pixels, so that a cache line of either side is used whole.
void permute_to_batch_innermost(const float* nchw, int64_t images, int64_t plane, float* permuted) {
  const int64_t pitch = paper_batch_pitch(images);
  for (int64_t begin = 0; begin < plane; begin += kLanes) {
    const int64_t end = begin + kLanes < plane ? begin + kLanes : plane;
    for (int64_t image = 0; image < pitch; ++image) {
      for (int64_t i = begin; i < end; ++i) {
        permuted[i * pitch + image] = image < images ? nchw[image * plane + i] : 0.0F;
      }
    }
  }
}

void permute_from_batch_innermost(const float* permuted, int64_t images, int64_t plane,
                                  float* nchw) {
  const int64_t pitch = paper_batch_pitch(images);
  for (int64_t begin = 0; begin < plane; begin += kLanes) {
    const int64_t end = begin + kLanes < plane ? begin + kLanes : plane;
    for (int64_t image = 0; image < images; ++image) {
      float* to = nchw + image * plane;
      for (int64_t i = begin; i < end; ++i) to[i] = permuted[i * pitch + image];
    }
  }
}

}  // namespace sparsejit::frontend
