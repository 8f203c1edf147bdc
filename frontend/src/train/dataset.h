// Dataset: labelled images for training and testing, kept as the bytes they came in.
//
// Two sources: the embedded UCI digits, and folders in the style of MNIST with
// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, plain or with .gz.
// Pixels are divided by the largest training pixel, so that inputs lie in [0, 1] whatever the
// range of the source (16 for the digits, 255 for MNIST); test pixels may exceed 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "matrix.h"

namespace sparsejit::frontend {

struct ImageSet {
  int64_t count = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<uint8_t> pixels;  // count*rows*cols
  std::vector<uint8_t> labels;  // count, each below Dataset::classes

  int64_t features() const { return rows * cols; }
};

struct Dataset {
  std::string name;
  int64_t classes = 0;
  float pixel_scale = 1.0F;
  ImageSet train;
  ImageSet test;
};

// 1438 training and 359 test images of 8x8; every fifth image is a test image.
Dataset embedded_digits(int64_t classes = 10);

// Throws Error for a missing folder or file, malformed content, counts or sizes that do not agree
// and labels that are not below `classes`.
Dataset load_dataset(const std::string& folder, int64_t classes = 10);

// Writes the images `samples` straight into `input`: feature-major, sample i becomes column i; or,
// where `input` is a single channel, one image after the other.
void gather_images(const ImageSet& set, float pixel_scale, std::span<const int64_t> samples,
                   StreamMatrix& input);

}  // namespace sparsejit::frontend
