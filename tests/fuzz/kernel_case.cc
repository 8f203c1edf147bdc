// See kernel_case.h. The order in which fields are read is the format of the corpus: append, do not
// insert.
#include "fuzz/kernel_case.h"

#include <array>
#include <vector>

namespace sparsejit::test {
namespace {

template <typename T>
T pick(ByteReader& reader, const std::vector<T>& choices) {
  return choices[reader.byte() % choices.size()];
}

// One bit a weight, or drawn with a seed, which gives large masks from few bytes.
Mask read_mask(ByteReader& reader, const MaskShape& shape) {
  const uint8_t kind = reader.byte();
  if (kind % 2 == 0) {
    const double sparsity = reader.byte() / 255.0;
    return Mask::random(shape, sparsity, kind);
  }
  std::vector<uint8_t> dense(static_cast<size_t>(shape.rows() * shape.cols()));
  uint8_t bits = 0;
  for (size_t i = 0; i < dense.size(); ++i) {
    if (i % 8 == 0) bits = reader.byte();
    dense[i] = bits >> i % 8 & 1;
  }
  return Mask::from_dense(dense, shape);
}

FuzzSetting read_setting(ByteReader& reader, const Mask& mask) {
  FuzzSetting setting;
  setting.l2_bytes = pick<int64_t>(reader, {0, 2 << 10, 8 << 10, 32 << 10});
  setting.threads = static_cast<int>(reader.between(1, 2));
  setting.next_mask = read_mask(reader, mask.shape());
  return setting;
}

Padding2d read_padding(ByteReader& reader) {
  if (reader.byte() % 8 == 7) return Padding2d::same();
  const auto side = [&] { return reader.between(-1, 6); };
  const int64_t top = side();
  const int64_t bottom = side();
  const int64_t left = side();
  return {top, bottom, left, side()};
}

// Any number in one field.
void make_wild(ByteReader& reader, ConvCase& c) {
  const std::array fields = {&c.conv.stride.h,      &c.conv.stride.w,    &c.conv.dilation.h,
                             &c.conv.dilation.w,    &c.conv.padding.top, &c.conv.padding.bottom,
                             &c.conv.padding.left,  &c.conv.groups,      &c.size.height,
                             &c.conv.padding.right, &c.size.width};
  *fields[reader.byte() % fields.size()] = reader.number() >> reader.byte() % 64;
}

}  // namespace

FuzzLinear read_linear(ByteReader& reader) {
  FuzzLinear result;
  LayerCase& c = result.layer;
  const MaskShape shape{reader.between(0, 40), reader.between(0, 40)};
  c.mask = read_mask(reader, shape);
  c.batch = reader.between(0, 140);
  c.x = pick(reader, all_arrangements());
  c.y = pick(reader, writable_arrangements());
  c.dy = pick(reader, all_arrangements());
  c.dx = pick(reader, writable_arrangements());
  c.edge = reader.flag() ? Edge::start : Edge::end;
  c.with_bias = !reader.flag();
  c.with_dx = !reader.flag();
  c.with_d_bias = !reader.flag();
  c.seed = reader.byte();
  result.setting = read_setting(reader, c.mask);
  c.with_d_values = !reader.flag();
  return result;
}

FuzzConv read_conv(ByteReader& reader) {
  FuzzConv result;
  ConvCase& c = result.conv;
  const MaskShape shape{reader.between(0, 12), reader.between(0, 6), reader.between(0, 5),
                        reader.between(0, 5)};
  c.mask = read_mask(reader, shape);
  c.conv.stride = {reader.between(0, 4), reader.between(0, 4)};
  c.conv.dilation = {reader.between(0, 3), reader.between(0, 3)};
  c.conv.groups = reader.between(0, 4);
  c.conv.padding = read_padding(reader);
  c.images = reader.between(0, 6);
  c.size = {reader.between(0, 20), reader.between(0, 40)};
  c.x = pick(reader, all_image_arrangements());
  c.y = pick(reader, writable_image_arrangements());
  c.dy = pick(reader, all_image_arrangements());
  c.dx = pick(reader, writable_image_arrangements());
  c.edge = reader.flag() ? Edge::start : Edge::end;
  c.with_bias = !reader.flag();
  c.with_dx = !reader.flag();
  c.relu = reader.flag();
  c.seed = reader.byte();
  result.setting = read_setting(reader, c.mask);
  result.wild = reader.byte() >= 0xF0;
  if (result.wild) make_wild(reader, c);
  c.with_d_values = !reader.flag();
  return result;
}

bool is_possible(const ConvCase& c) {
  const MaskShape& shape = c.mask.shape();
  const Conv2d& conv = c.conv;
  if (conv.groups < 1 || shape.out % conv.groups != 0) return false;
  const auto axis = [&](int64_t input, int64_t kernel, int64_t stride, int64_t dilation,
                        int64_t before, int64_t after) {
    if (input < 1 || kernel < 1 || stride < 1 || dilation < 1) return false;
    if (conv.padding.is_same) return stride == 1;
    return before >= 0 && after >= 0 && input + before + after > dilation * (kernel - 1);
  };
  return axis(c.size.height, shape.kernel_h, conv.stride.h, conv.dilation.h, conv.padding.top,
              conv.padding.bottom) &&
         axis(c.size.width, shape.kernel_w, conv.stride.w, conv.dilation.w, conv.padding.left,
              conv.padding.right);
}

}  // namespace sparsejit::test
