// The sparse tensor format of the SparseProp paper (ICML 2023), for exchange with its files and
// code: a weight of OC output channels, IC input channels and filters of KH x KW.
//
//     oc 0: ic 0 [. a .; . . .]  ic 1 [. . .; . . .]     och  = 0 1 3 6
//     oc 1: ic 0 [. . .; . . .]  ic 1 [. d .; . e .]     ich  = 0 1 1 | 0 0 2 | 0 2 3
//     oc 2: ic 0 [. . .; b . c]  ic 1 [. . f; . . .]     x    = 0 0 1 1 1 0
//                                                        y    = 1 1 1 0 2 2
//                                                        vals = a d e b c f
//
// Entries of one filter may come in any order; exported ones are ordered like the mask's values.
// Offsets are 64-bit: the paper's 16-bit ones overflow once an output channel stores more than
// 32767 weights. The format knows no geometry, and linear weights are filters of 1x1. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sparsejit/mask.h"

namespace sparsejit {

struct SparsePropTensor {
  std::vector<int64_t> och;  // OC+1: where the entries of each output channel begin
  std::vector<int64_t> ich;  // OC*(IC+1): where those of each filter begin, relative to och[oc]
  std::vector<int64_t> x;    // row of each stored weight inside its filter
  std::vector<int64_t> y;    // its column
  std::vector<float> vals;
  bool operator==(const SparsePropTensor&) const = default;
};

struct MaskAndValues {
  Mask mask;
  std::vector<float> values;  // in the mask's order
};

// Throws Error, naming the entry, for wrong lengths, offsets that do not start at 0, decrease or
// end elsewhere, coordinates outside the filter and weights that are stored twice. A stored 0.0
// stays stored.
MaskAndValues import_sparseprop(const SparsePropTensor& tensor, const MaskShape& shape);

// Throws Error unless there are as many values as the mask stores.
SparsePropTensor export_sparseprop(const Mask& mask, std::span<const float> values);

}  // namespace sparsejit
