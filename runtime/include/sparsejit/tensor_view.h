// Views of the caller's activations: a pointer, a shape and strides, in floats. Nothing is owned.
//
// A linear layer takes (batch, features). Any strides are accepted: row-major, feature-major
// (transposed), slices, expanded inputs (stride 0), negative ones. Feature-major views, where
// consecutive samples of one feature are adjacent (batch_stride == 1), are used without a copy.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sparsejit {

template <typename T>
struct BasicTensorView {
  T* data = nullptr;
  int64_t batch = 0;
  int64_t features = 0;
  int64_t batch_stride = 0;    // floats between the same feature of consecutive samples
  int64_t feature_stride = 0;  // floats between consecutive features of one sample

  // A writable view can be read from.
  operator BasicTensorView<const T>() const requires(!std::is_const_v<T>) {
    return {data, batch, features, batch_stride, feature_stride};
  }
  bool empty() const { return data == nullptr; }
};

using TensorView = BasicTensorView<float>;
using ConstTensorView = BasicTensorView<const float>;

// data[sample * pitch + feature]; pitch 0 means features.
template <typename T>
BasicTensorView<T> row_major(T* data, int64_t batch, int64_t features, int64_t pitch = 0) {
  return {data, batch, features, pitch == 0 ? features : pitch, 1};
}

// data[feature * pitch + sample]; pitch 0 means batch. stream_pitch(batch) is a good pitch.
template <typename T>
BasicTensorView<T> feature_major(T* data, int64_t batch, int64_t features, int64_t pitch = 0) {
  return {data, batch, features, 1, pitch == 0 ? batch : pitch};
}

// Images of a convolution: (images, channels, height, width) in PyTorch's order, any strides.
// NCHW planes without gaps are used without a copy where the convolution allows it (1x1, stride 1).
template <typename T>
struct BasicImageView {
  T* data = nullptr;
  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t image_stride = 0;
  int64_t channel_stride = 0;
  int64_t row_stride = 0;
  int64_t pixel_stride = 0;  // between consecutive pixels of a row

  operator BasicImageView<const T>() const requires(!std::is_const_v<T>) {
    return {data,         images,         channels,   height,      width,
            image_stride, channel_stride, row_stride, pixel_stride};
  }
  bool empty() const { return data == nullptr; }
};

using ImageView = BasicImageView<float>;
using ConstImageView = BasicImageView<const float>;

// Contiguous NCHW: data[((image * channels + channel) * height + row) * width + column].
template <typename T>
BasicImageView<T> nchw(T* data, int64_t images, int64_t channels, int64_t height, int64_t width) {
  return {data,           images, channels, height, width, channels * height * width,
          height * width, width,  1};
}

// Contiguous channels-last: data[((image * height + row) * width + column) * channels + channel].
template <typename T>
BasicImageView<T> channels_last(T* data, int64_t images, int64_t channels, int64_t height,
                                int64_t width) {
  return {data, images,           channels, height, width, height * width * channels,
          1,    width * channels, channels};
}

}  // namespace sparsejit
