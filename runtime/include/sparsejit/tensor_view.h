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

}  // namespace sparsejit
