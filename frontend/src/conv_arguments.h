// Option texts of a convolution: its shape, its geometry and the images it runs on.
//
//     --conv 128x256x3x3        in x out x kernel height x kernel width; "in" counts all input
//                               channels, of which every group sees in / groups
//     --stride 2  2x1           one number, or height x width; --dilation likewise
//     --padding 1  1x0  1x2x0x1  same        all sides; height x width; top x bottom x left x right
//     --image 7x7               height x width
//     --smtx-conv 64x3x3        what the columns of an .smtx file stand for: input channels of one
//                               group x kernel height x kernel width, channels last
//
// Every function throws Error with one sentence that names the option, the text seen and what was
// expected. What needs the shape (groups that do not divide the channels, empty outputs) is
// checked by resolve_conv2d and output_size. No state, no output; `option` is only quoted.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "sparsejit/conv2d.h"
#include "sparsejit/mask.h"

namespace sparsejit::frontend {

// As typed.
struct GeometryTexts {
  std::string stride = "1";
  std::string padding = "0";
  std::string dilation = "1";
  std::string groups = "1";
  bool operator==(const GeometryTexts&) const = default;
};

// --stride, --padding, --dilation and --groups.
void add_conv_options(CLI::App& app, GeometryTexts& texts);
Conv2d parse_conv2d(const GeometryTexts& texts);

PerAxis parse_per_axis(std::string_view text, std::string_view option);
Padding2d parse_padding(std::string_view text, std::string_view option);
ImageSize parse_image(std::string_view text, std::string_view option);

// "128x256x3x3" with 2 groups -> {256, 64, 3, 3}.
MaskShape parse_conv_shape(std::string_view text, std::string_view option, int64_t groups);

// The mask of a convolution from the matrix an .smtx file holds; `text` is "ICxKHxKW".
Mask parse_smtx_conv(const Mask& matrix, std::string_view text, std::string_view option);

// As they are typed: "7x7"; "2" or "2x1"; "1", "1x0", "0x1x0x1" or "same".
std::string to_text(ImageSize image);
std::string to_text(PerAxis axes);
std::string to_text(const Padding2d& padding);
// "stride 2x1, padding 1, groups 4": what differs from the default; empty when nothing does.
std::string to_text(const Conv2d& conv);

}  // namespace sparsejit::frontend
