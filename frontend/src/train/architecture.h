// The layers of a network as plain data, before any of them is made.
//
//     mlp   pixels -> [linear, ReLU] x hidden -> linear -> logits
//     cnn   image -> [3x3 convolution, ReLU] x channels -> mean of each channel -> linear -> logits
//
// The last layer classifies and is dense. So is the first convolution, which sees one channel and
// has hardly a weight to spare; its kernels are compiled like those of the others. All other
// layers are pruned. Convolutions are padded by one pixel; without --strides every second one has
// stride 2.
#pragma once

#include <string>
#include <vector>

#include "sparsejit/conv2d.h"
#include "train/train_options.h"

namespace sparsejit::frontend {

struct LayerSpec {
  MaskShape shape;
  bool is_conv2d = false;
  Conv2d conv{};       // the default for linear layers
  ImageSize input{};   // linear layers read the mean of larger images
  ImageSize output{};  // linear: one pixel
  bool relu = true;
  bool pruned = true;
};

// `image` is the size of the data's images. Throws Error for options that contradict each other
// and for layers that are too large.
std::vector<LayerSpec> plan_layers(const TrainOptions& options, ImageSize image);

// "64-1024-1024-10", "8x8 - 32 of 8x8 - 64 of 4x4 - mean - 10"
std::string to_text(const std::vector<LayerSpec>& layers);

}  // namespace sparsejit::frontend
