#include "support/image_tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

namespace sparsejit::test {
namespace {

constexpr uint32_t kGapBits = 0x7FC0A5A5;  // a NaN with a mark

ImageView arrange(ImageArrangement arrangement, int64_t n, int64_t c, ImageSize size) {
  const int64_t h = size.height;
  const int64_t w = size.width;
  const auto strides = [&](int64_t image, int64_t channel, int64_t row, int64_t pixel) {
    return ImageView{nullptr, n, c, h, w, image, channel, row, pixel};
  };
  switch (arrangement) {
    case ImageArrangement::nchw:
      return strides(c * h * w, h * w, w, 1);
    case ImageArrangement::channels_last:
      return strides(h * w * c, 1, w * c, c);
    case ImageArrangement::channel_major:
      return strides(h * w, n * h * w, w, 1);
    case ImageArrangement::padded:
      return strides(c * (h * (w + 3) + 5) + 7, h * (w + 3) + 5, w + 3, 1);
    case ImageArrangement::strided:
      return strides(c * (h * (2 * w + 1) + 2) + 3, h * (2 * w + 1) + 2, 2 * w + 1, 2);
    case ImageArrangement::rows_reversed:
      return strides(c * h * w, h * w, -w, 1);
    case ImageArrangement::expanded:
      return strides(0, 0, 0, 0);
    case ImageArrangement::expanded_images:
      return strides(0, h * w, w, 1);
  }
  return {};
}

std::array<std::array<int64_t, 2>, 4> axes_of(const ImageView& view) {
  return {{{view.images, view.image_stride},
           {view.channels, view.channel_stride},
           {view.height, view.row_stride},
           {view.width, view.pixel_stride}}};
}

// From the lowest element to the first one.
int64_t floats_before(const ImageView& view) {
  int64_t floats = 0;
  for (const auto& [count, stride] : axes_of(view)) {
    floats += std::max<int64_t>(0, -stride * (count - 1));
  }
  return floats;
}

int64_t floats_of(const ImageView& view) {
  int64_t floats = 1;
  for (const auto& [count, stride] : axes_of(view)) {
    if (count == 0) return 0;
    floats += std::abs(stride) * (count - 1);
  }
  return floats;
}

}  // namespace

const std::vector<ImageArrangement>& all_image_arrangements() {
  static const std::vector<ImageArrangement> all = {
      ImageArrangement::nchw,     ImageArrangement::channels_last,  ImageArrangement::channel_major,
      ImageArrangement::padded,   ImageArrangement::strided,        ImageArrangement::rows_reversed,
      ImageArrangement::expanded, ImageArrangement::expanded_images};
  return all;
}

const std::vector<ImageArrangement>& writable_image_arrangements() {
  static const std::vector<ImageArrangement> all(all_image_arrangements().begin(),
                                                 all_image_arrangements().end() - 2);
  return all;
}

std::string to_text(ImageArrangement arrangement) {
  static const std::vector<std::string> names = {"nchw",     "channels-last",  "channel-major",
                                                 "padded",   "strided",        "rows-reversed",
                                                 "expanded", "expanded-images"};
  return names[static_cast<size_t>(arrangement)];
}

ImageTensor::ImageTensor(ImageArrangement arrangement, int64_t images, int64_t channels,
                         ImageSize size, Edge edge)
    : buffer_(floats_of(arrange(arrangement, images, channels, size)), edge),
      view_(arrange(arrangement, images, channels, size)) {
  const int64_t before = floats_before(view_);
  view_.data = buffer_.data() + before;
  is_element_.assign(buffer_.floats().size(), false);
  buffer_.fill(std::bit_cast<float>(kGapBits));
  for (int64_t i = 0; i < elements(); ++i)
    is_element_[static_cast<size_t>(slot(i) + before)] = true;
}

int64_t ImageTensor::elements() const {
  return view_.images * view_.channels * view_.height * view_.width;
}

int64_t ImageTensor::slot(int64_t index) const {
  const int64_t column = index % view_.width;
  const int64_t row = index / view_.width % view_.height;
  const int64_t channel = index / (view_.width * view_.height) % view_.channels;
  const int64_t image = index / (view_.width * view_.height * view_.channels);
  return image * view_.image_stride + channel * view_.channel_stride + row * view_.row_stride +
         column * view_.pixel_stride;
}

void ImageTensor::write(std::span<const float> contents) {
  for (size_t i = 0; i < contents.size(); ++i) {
    view_.data[slot(static_cast<int64_t>(i))] = contents[i];
  }
}

void ImageTensor::fill(float value) {
  for (int64_t i = 0; i < elements(); ++i) {
    view_.data[slot(i)] = value;
  }
}

std::vector<float> ImageTensor::read() const {
  std::vector<float> contents;
  for (int64_t i = 0; i < elements(); ++i) {
    contents.push_back(view_.data[slot(i)]);
  }
  return contents;
}

bool ImageTensor::gaps_intact() const {
  if (!buffer_.canary_intact()) return false;
  const auto floats = buffer_.floats();
  for (size_t i = 0; i < floats.size(); ++i) {
    if (!is_element_[i] && std::bit_cast<uint32_t>(floats[i]) != kGapBits) return false;
  }
  return true;
}

}  // namespace sparsejit::test
