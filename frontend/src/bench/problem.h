// Problem: the tensors of one workload, filled with random numbers, and its mask.
//
// Inputs (x, dy) of linear layers exist in both layouts with the same numbers, because the
// baselines run on the layout that suits them; those of convolutions in NCHW, and channels-last
// only if the workload asks for it. Every engine writes its outputs to the buffers of the layout it
// ran on. Engines take turns on one Problem, so they see the same addresses. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/workload.h"
#include "matrix.h"
#include "sparsejit/layer.h"

namespace sparsejit::frontend {

// One tensor and the memory behind it. Of linear layers one image of `batch` pixels; see
// workload.h.
class Activation {
 public:
  Activation() = default;
  // `pitch`: floats from channel to channel (feature_major) or from pixel to pixel (row_major).
  Activation(Layout layout, int64_t images, int64_t channels, ImageSize size, int64_t pitch);

  TensorView view();       // of linear layers
  ImageView image_view();  // of convolutions
  bool empty() const { return data_ == nullptr; }
  int64_t images() const { return images_; }
  int64_t channels() const { return channels_; }
  int64_t pixels() const { return size_.height * size_.width; }
  int64_t pitch() const { return pitch_; }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  // feature_major only: the consecutive pixels of one channel.
  float* stream(int64_t channel, int64_t image = 0) { return &at(image, channel, 0); }
  const float* stream(int64_t channel, int64_t image = 0) const { return &at(image, channel, 0); }
  float& at(int64_t image, int64_t channel, int64_t pixel) {
    return data_[offset(image, channel, pixel)];
  }
  const float& at(int64_t image, int64_t channel, int64_t pixel) const {
    return data_[offset(image, channel, pixel)];
  }

 private:
  int64_t offset(int64_t image, int64_t channel, int64_t pixel) const {
    return image * image_stride_ + channel * channel_stride_ + pixel * pixel_stride_;
  }

  int64_t images_ = 0;
  int64_t channels_ = 0;
  ImageSize size_;
  int64_t pitch_ = 0;
  int64_t image_stride_ = 0;
  int64_t channel_stride_ = 0;
  int64_t pixel_stride_ = 0;
  AlignedFloats data_;
};

// What a layer reads and writes, in one layout.
struct Activations {
  Activation x;
  Activation dy;
  Activation y;
  Activation dx;
};

struct Problem {
  Workload workload;
  Mask mask;
  std::vector<float> values;    // nnz
  std::vector<float> bias;      // out
  std::vector<float> d_values;  // nnz
  std::vector<float> d_bias;    // out
  Activations feature_major;
  Activations row_major;  // empty of convolutions in NCHW

  Activations& activations(Layout layout) {
    return layout == Layout::feature_major ? feature_major : row_major;
  }
  // Empty unless the workload has a bias, which is what Layer expects.
  std::span<const float> bias_if_used() const;
  std::span<float> d_bias_if_used();
};

Problem make_problem(const Workload& workload);

// The weights as a dense row-major matrix (rows x cols of the mask), zero where nothing is stored.
AlignedFloats make_dense_weight(const Problem& problem);
// The gradients of a dense weight at the stored ones, into problem.d_values.
void gather_d_values(Problem& problem, const float* d_weight);

// Fills every output with NaN, so that a result nobody wrote cannot pass for a right one.
void poison_outputs(Problem& problem);

}  // namespace sparsejit::frontend
