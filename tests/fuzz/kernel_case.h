// KernelCase as fuzz bytes describe it: a linear layer or a convolution, small, often impossible,
// with the machine that plans believe in. A small L2 makes many panels and slabs of few floats.
#pragma once

#include "fuzz/byte_reader.h"
#include "support/conv_case.h"
#include "support/layer_case.h"

namespace sparsejit::test {

// What both kinds of layers have besides their case.
struct FuzzSetting {
  int64_t l2_bytes = 0;  // 0: the real one
  int threads = 1;
  Mask next_mask = {};  // set after the first run; of the same shape
};

struct FuzzLinear {
  LayerCase layer;
  FuzzSetting setting;
};

struct FuzzConv {
  ConvCase conv;
  FuzzSetting setting;
  bool wild = false;  // one field of the geometry is any 64-bit number
};

FuzzLinear read_linear(ByteReader& reader);
FuzzConv read_conv(ByteReader& reader);

// The rules of PyTorch, written down once more: a convolution that exists.
bool is_possible(const ConvCase& conv_case);

}  // namespace sparsejit::test
