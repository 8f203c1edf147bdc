// BlasConv: the dense products of a convolution by im2col and OpenBLAS, the baseline sparse
// convolutions are compared with. A linear layer is the special case of a 1x1 kernel over images of
// one pixel.
//
//     for each block of images:  columns = im2col(x)   y = W columns   dW += dy columns^T
//                                dcolumns = W^T dy     dx = col2im(dcolumns)
//
// A block is as many images as keep the columns in cache where the images of one channel follow
// each other (image_stride == height * width), else one image. A 1x1 kernel with stride 1 and no
// padding needs no columns: x is the matrix.
//
// W is row-major (out x in * kernel_h * kernel_w). Images of y and dy have rows without gaps.
// Outputs are overwritten. One object serves one thread at a time; OpenBLAS has its own threads
// (set_dense_threads).
#pragma once

#include <cstdint>
#include <vector>

#include "dense_blas.h"
#include "sparsejit/conv2d.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit::frontend {

class BlasConv {
 public:
  BlasConv(const MaskShape& shape, const Conv2d& conv);

  void run_forward(const float* w, ConstImageView x, ImageView y);
  void run_backward_input(const float* w, ConstImageView dy, ImageView dx);
  void run_backward_weight(ConstImageView x, ConstImageView dy, float* dw);

 private:
  struct Matrix {
    const float* data;
    int64_t pitch;
  };

  bool uses_input(ConstImageView x) const;
  int64_t images_per_block(ConstImageView x, ConstImageView y) const;
  DenseShape product_shape(ConstImageView y) const;
  void reserve_columns(int64_t pixels);
  // x as columns: x itself, or columns_.
  Matrix to_columns(ConstImageView x, int64_t pixels);
  // visit(offset of the group's rows in W, x and y of the block)
  template <typename X, typename Y, typename Visit>
  void for_each_block(BasicImageView<X> x, BasicImageView<Y> y, Visit visit) const;

  MaskShape shape_;
  Conv2d conv_;  // resolved
  std::vector<float> columns_;
};

}  // namespace sparsejit::frontend
