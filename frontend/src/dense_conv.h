// Dense convolutions by oneDNN: the baseline of `bench`, both passes, float32.
//
//     DenseConv conv(shape, threads);
//     conv.set_inputs(x, dy, weight, bias);    // NCHW, OIHW
//     conv.run_forward();  conv.run_backward();
//     conv.get_y(y); conv.get_dx(dx); ...      // NCHW, OIHW
//
// oneDNN chooses algorithm and layouts of every tensor. Only the runs are meant to be timed:
// tensors are converted to its layouts when they are set and from them when they are asked for, as
// in a network that keeps them. A tensor of which two primitives want different layouts exists in
// both.
//
// Errors: Error when oneDNN has no implementation. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sparsejit/conv2d.h"

namespace sparsejit::frontend {

struct DenseConvShape {
  int64_t images = 0;
  MaskShape weight;
  Conv2d conv;  // padding as numbers
  ImageSize input;
  bool bias = false;
  bool want_dx = true;
};

class DenseConv {
 public:
  // From here on oneDNN uses `threads` threads in this process; Error if OpenMP allows fewer.
  DenseConv(const DenseConvShape& shape, int threads);
  DenseConv(DenseConv&&) noexcept;
  DenseConv& operator=(DenseConv&&) noexcept;
  ~DenseConv();

  // `bias` is read only if the shape has one.
  void set_inputs(const float* x, const float* dy, const float* weight, const float* bias);
  // Fills the outputs with NaN.
  void poison_outputs();
  void run_forward();
  void run_backward();
  void get_y(float* y) const;
  void get_dx(float* dx) const;
  void get_d_weight(float* d_weight) const;
  void get_d_bias(float* d_bias) const;

  // What oneDNN runs, such as "jit:avx2".
  std::string forward_implementation() const;
  std::string backward_implementation() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string dense_conv_library();  // name and version, e.g. "oneDNN 2.6.3"

}  // namespace sparsejit::frontend
