// ConvCase: one mask, geometry and size of images, and the arrangement of all tensors; run_conv
// runs both passes on it the hardest way there is, as layer_case.h does for linear layers.
// expect_matches_reference compares with a naive convolution in double (reference.h).
#pragma once

#include <string>

#include "sparsejit/layer.h"
#include "support/image_tensor.h"
#include "support/layer_case.h"

namespace sparsejit::test {

struct ConvCase {
  Mask mask = {};
  Conv2d conv = {};
  int64_t images = 1;
  ImageSize size = {};
  ImageArrangement x = ImageArrangement::nchw;
  ImageArrangement y = ImageArrangement::nchw;
  ImageArrangement dy = ImageArrangement::nchw;
  ImageArrangement dx = ImageArrangement::nchw;
  Edge edge = Edge::end;
  bool with_bias = true;
  bool with_dx = true;
  bool with_d_values = true;
  bool relu = false;
  uint64_t seed = 1;

  void arrange(ImageArrangement all) { x = y = dy = dx = all; }
  int64_t in_channels() const { return mask.shape().in * conv.groups; }
};

std::string to_text(const ConvCase& conv_case);

// Arrays are NCHW.
LayerRun run_conv(const Layer& layer, const ConvCase& conv_case);
LayerReference reference_conv(const ConvCase& conv_case, const LayerRun& run);
void expect_matches_reference(const ConvCase& conv_case, const LayerRun& run);

Layer forced_conv(const ConvCase& conv_case, Engine engine, Runtime& runtime);

}  // namespace sparsejit::test
