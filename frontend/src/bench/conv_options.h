// What the user said about convolutions: --conv, --image, --stride and so on; see workload.h for
// what becomes of it. Errors as in option_values.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace sparsejit::frontend {

struct ConvTexts {
  std::vector<std::string> convs;      // INxOUTxKHxKW, IN being the channels of all groups
  std::optional<std::string> image;    // HxW
  std::optional<std::string> stride;   // one number or HxW, as the two that follow
  std::optional<std::string> padding;  // or "same"
  std::optional<std::string> dilation;
  std::optional<std::string> groups;

  // Error if one of them, --conv aside, was given.
  void refuse_geometry(const char* expectation) const;
};

// One layer for each --conv, without batch and sparsity.
std::vector<Workload> parse_convs(const ConvTexts& texts);

// The layer of a mask whose columns are ordered as in .smtx files of convolutions. `smtx_conv` is
// ICxKHxKW, the input channels of one group.
Workload parse_smtx_conv(const ConvTexts& texts, const std::string& smtx_conv, const Mask& matrix);

}  // namespace sparsejit::frontend
