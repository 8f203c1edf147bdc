// What the user said about convolutions of `bench`, and the layers it makes; the texts themselves
// are read by conv_arguments.h. Errors as there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "conv_arguments.h"

namespace sparsejit::frontend {

struct ConvTexts {
  std::vector<std::string> convs;  // INxOUTxKHxKW, IN being the channels of all groups
  std::optional<std::string> image;
  GeometryTexts geometry;
};

// Error if one of them, --conv aside, says other than its default.
void refuse_geometry(const ConvTexts& texts, const char* expectation);

// One layer for each --conv, without batch and sparsity.
std::vector<Workload> list_conv_layers(const ConvTexts& texts);

// The layer of --mask and --smtx-conv.
Workload make_smtx_conv_layer(const ConvTexts& texts, const std::string& smtx_conv,
                              const Mask& matrix);

}  // namespace sparsejit::frontend
