// FeatureMaps: the activations between two layers: `samples` images of `channels` channels, channel
// after channel, the images of one channel one after another.
//
//     2 channels of 1x3 images:    c0: a0 a1 a2 | b0 b1 b2 | ...    c1: a0 a1 a2 | b0 b1 b2 | ...
//
// Features of a linear layer are channels whose images have one pixel: then this is the plain
// feature-major matrix. Dense products take a whole channel as one row. A step with fewer samples
// uses the first images.
#pragma once

#include "matrix.h"
#include "sparsejit/conv2d.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit::frontend {

struct FeatureMaps {
  FeatureMaps(int64_t samples, int64_t channels, ImageSize size)
      : image(size), streams(samples * size.height * size.width, channels) {}

  ImageView view(int64_t samples) { return view_of(streams.data(), samples); }
  ConstImageView view(int64_t samples) const { return view_of(streams.data(), samples); }

  ImageSize image;
  StreamMatrix streams;  // sample and pixel on one axis

 private:
  template <typename T>
  BasicImageView<T> view_of(T* data, int64_t samples) const {
    return {data,
            samples,
            streams.features(),
            image.height,
            image.width,
            image.height * image.width,
            streams.pitch(),
            image.width,
            1};
  }
};

}  // namespace sparsejit::frontend
