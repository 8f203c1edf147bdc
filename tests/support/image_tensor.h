// ImageTensor: an (images, channels, height, width) tensor of the caller in any arrangement of
// strides, in guarded memory. As in activation.h, slots between its elements hold a marked NaN:
// a kernel that reads one spoils its sums, one that writes one is found by `gaps_intact`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sparsejit/conv2d.h"
#include "sparsejit/tensor_view.h"
#include "support/guarded_buffer.h"

namespace sparsejit::test {

enum class ImageArrangement {
  nchw,
  channels_last,
  channel_major,  // (channels, images, height, width): images of a channel are adjacent
  padded,         // gaps behind rows, planes and images
  strided,        // gaps behind each pixel too
  rows_reversed,
  expanded,        // all elements are one float; inputs only
  expanded_images  // all images are one; inputs only
};

const std::vector<ImageArrangement>& all_image_arrangements();       // what an input may have
const std::vector<ImageArrangement>& writable_image_arrangements();  // what an output may have
std::string to_text(ImageArrangement arrangement);

class ImageTensor {
 public:
  ImageTensor(ImageArrangement arrangement, int64_t images, int64_t channels, ImageSize size,
              Edge edge);

  ImageView view() const { return view_; }
  // `contents` is NCHW. Elements that share memory keep the last one written.
  void write(std::span<const float> contents);
  void fill(float value);
  std::vector<float> read() const;  // NCHW
  void make_read_only() { buffer_.make_read_only(); }
  bool gaps_intact() const;

 private:
  int64_t elements() const;
  int64_t slot(int64_t index) const;  // of an element, counted in NCHW

  GuardedBuffer buffer_;
  ImageView view_;
  std::vector<bool> is_element_;  // for each float of the buffer
};

}  // namespace sparsejit::test
