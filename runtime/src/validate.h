// Checks of what callers pass, before anything is written. Each failure throws Error with the name
// of the argument, the value seen and what was expected.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sparsejit/layer.h"

namespace sparsejit {

// A (batch, features) tensor as images of one pixel.
template <typename T>
BasicImageView<T> as_images(const BasicTensorView<T>& view) {
  return {.data = view.data,
          .images = view.batch,
          .channels = view.features,
          .height = 1,
          .width = 1,
          .image_stride = view.batch_stride,
          .channel_stride = view.feature_stride,
          .row_stride = 1,
          .pixel_stride = 1};
}

struct TensorShape {
  int64_t images = 0;
  int64_t channels = 0;
  ImageSize size;
  bool linear = false;  // of a linear layer: (batch, features) in messages
};

void validate_input(const ConstImageView& view, const TensorShape& shape, std::string_view name);

// Also that no two elements share memory.
void validate_output(const ImageView& view, const TensorShape& shape, std::string_view name);

void validate_array(std::span<const float> array, int64_t expected, bool may_be_empty,
                    std::string_view name);

// An output must not start where another tensor starts.
void validate_distinct(const void* output, const void* other, std::string_view output_name,
                       std::string_view other_name);

void validate_options(const LayerOptions& options);

}  // namespace sparsejit
