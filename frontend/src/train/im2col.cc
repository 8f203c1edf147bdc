// One walk serves both directions: for every row of the columns and every row of output pixels the
// run of pixels that lies inside the image; see im2col.h.
#include "train/im2col.h"

#include <algorithm>

namespace sparsejit::frontend {
namespace {

// Outputs [begin, end) read inside an image of `input` pixels, at output * stride + offset.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
};

Window find_window(int64_t offset, int64_t stride, int64_t input, int64_t output) {
  const auto first_at_least = [&](int64_t pixel) {
    return std::clamp<int64_t>((pixel - offset + stride - 1) / stride, 0, output);
  };
  const int64_t begin = offset >= 0 ? 0 : first_at_least(0);
  const int64_t end = input > offset ? first_at_least(input) : 0;
  return {begin, std::max(begin, end)};
}

// visit(line, pixels, window): `line` is the start of one row of output pixels in the columns,
// `pixels` where the window's first pixel is; `step` floats further is the next.
template <typename Float, typename Pixels, typename Visit>
void for_each_line(const MaskShape& shape, const Conv2d& conv, const BasicImageView<Pixels>& x,
                   Float* columns, int64_t pitch, Visit visit) {
  const ImageSize output = output_size(shape, conv, {x.height, x.width});
  for (int64_t row = 0; row < shape.cols(); ++row) {
    const int64_t channel = row / (shape.kernel_h * shape.kernel_w);
    const int64_t y_offset =
        row / shape.kernel_w % shape.kernel_h * conv.dilation.h - conv.padding.top;
    const int64_t x_offset = row % shape.kernel_w * conv.dilation.w - conv.padding.left;
    const Window rows = find_window(y_offset, conv.stride.h, x.height, output.height);
    const Window inside = find_window(x_offset, conv.stride.w, x.width, output.width);
    Float* line = columns + row * pitch;
    for (int64_t image = 0; image < x.images; ++image) {
      Pixels* plane = x.data + image * x.image_stride + channel * x.channel_stride;
      for (int64_t p = 0; p < output.height; ++p, line += output.width) {
        if (p < rows.begin || p >= rows.end || inside.begin == inside.end) {
          visit(line, static_cast<Pixels*>(nullptr), Window{}, output.width);
          continue;
        }
        const int64_t column = inside.begin * conv.stride.w + x_offset;
        visit(line, plane + (p * conv.stride.h + y_offset) * x.row_stride + column * x.pixel_stride,
              inside, output.width);
      }
    }
  }
}

// visit(q, offset of its pixel from the window's first). Adjacent pixels have a loop of their own,
// which becomes vector code.
template <typename Visit>
void for_each_pixel(Window inside, int64_t step, Visit visit) {
  if (step == 1) {
    for (int64_t q = inside.begin; q < inside.end; ++q) visit(q, q - inside.begin);
  } else {
    for (int64_t q = inside.begin; q < inside.end; ++q) visit(q, (q - inside.begin) * step);
  }
}

}  // namespace

void im2col(const MaskShape& shape, const Conv2d& conv, ConstImageView x, float* columns,
            int64_t pitch) {
  const int64_t step = conv.stride.w * x.pixel_stride;
  const auto copy = [step](float* line, const float* pixels, Window inside, int64_t width) {
    std::fill(line, line + inside.begin, 0.0F);
    std::fill(line + inside.end, line + width, 0.0F);
    for_each_pixel(inside, step, [&](int64_t q, int64_t at) { line[q] = pixels[at]; });
  };
  for_each_line(shape, conv, x, columns, pitch, copy);
}

void col2im_add(const MaskShape& shape, const Conv2d& conv, const float* columns, int64_t pitch,
                ImageView x) {
  const int64_t step = conv.stride.w * x.pixel_stride;
  const auto add = [step](const float* line, float* pixels, Window inside, int64_t /*width*/) {
    for_each_pixel(inside, step, [&](int64_t q, int64_t at) { pixels[at] += line[q]; });
  };
  for_each_line(shape, conv, x, columns, pitch, add);
}

}  // namespace sparsejit::frontend
