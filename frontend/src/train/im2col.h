// im2col: a convolution's input as the matrix that makes it one dense product, and back.
//
//     columns[(ic, i, j)][(image, p, q)] = x[image][ic][p * stride.h + i * dilation.h -
//     padding.top][...]
//
// Rows are ordered like the columns of the weight, so y = W columns. Pixels outside the image are
// zeros. col2im_add is the transpose: it adds each entry to the pixel it was copied from.
//
// `conv` is resolved; views have the channels of one group. Pure.
#pragma once

#include "sparsejit/conv2d.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit::frontend {

// `pitch` floats from row to row of `columns`.
void im2col(const MaskShape& shape, const Conv2d& conv, ConstImageView x, float* columns,
            int64_t pitch);
void col2im_add(const MaskShape& shape, const Conv2d& conv, const float* columns, int64_t pitch,
                ImageView x);

}  // namespace sparsejit::frontend
