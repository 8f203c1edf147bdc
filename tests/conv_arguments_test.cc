// Option texts of convolutions: every form that is accepted, and what is wrong with the others.
#include "conv_arguments.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

TEST(ConvArguments, OneNumberServesBothAxes) {
  EXPECT_EQ(parse_per_axis("2", "--stride"), PerAxis(2, 2));
  EXPECT_EQ(parse_per_axis("2x1", "--stride"), PerAxis(2, 1));
  EXPECT_EQ(parse_padding("1", "--padding"), Padding2d(1));
  EXPECT_EQ(parse_padding("1x0", "--padding"), Padding2d(1, 0));
  EXPECT_EQ(parse_padding("1x2x0x3", "--padding"), Padding2d(1, 2, 0, 3));
  EXPECT_TRUE(parse_padding("same", "--padding").is_same);
  EXPECT_EQ(parse_image("7x5", "--image"), (ImageSize{7, 5}));
}

TEST(ConvArguments, InputChannelsAreSharedOutToGroups) {
  EXPECT_EQ(parse_conv_shape("128x256x3x5", "--conv", 1), (MaskShape{256, 128, 3, 5}));
  EXPECT_EQ(parse_conv_shape("128x256x3x3", "--conv", 4), (MaskShape{256, 32, 3, 3}));
  expect_error([] { parse_conv_shape("128x256x3x3", "--conv", 3); }, {"--groups", "3", "128"});
}

TEST(ConvArguments, BadTextsAreNamed) {
  for (const char* text : {"", "0", "-1", "2x", "x2", "2x2x2", "1.5", "2x0", "two"}) {
    expect_error([&] { parse_per_axis(text, "--stride"); }, {"--stride", text});
  }
  for (const char* text : {"", "-1", "1x1x1", "1x1x1x1x1", "sme", "1,1"}) {
    expect_error([&] { parse_padding(text, "--padding"); }, {"--padding", text, "same"});
  }
  for (const char* text : {"", "3x3", "1x2x3x4x5", "1x2x3x0", "1x2x3x99999999999"}) {
    expect_error([&] { parse_conv_shape(text, "--conv", 1); }, {"--conv", text, "INxOUTxKHxKW"});
  }
  expect_error([] { parse_conv_shape("2000000000x2000000000x9x9", "--conv", 1); }, {"too large"});
  expect_error([] { parse_image("7", "--image"); }, {"--image", "HEIGHTxWIDTH"});
  expect_error([] { parse_conv2d({.groups = "0"}); }, {"--groups", "0"});
}

TEST(ConvArguments, SmtxColumnsAreOrderedChannelsLast) {
  // One row, columns (kh, kw, ic) of 2 channels and a 1x2 kernel: stored are (0, 0, 1), (0, 1, 0).
  const Mask matrix = Mask::from_smtx("1, 4, 2\n0 2\n1 2\n");
  EXPECT_EQ(parse_smtx_conv(matrix, "2x1x2", "--smtx-conv"),
            Mask::from_csr(std::vector<int64_t>{0, 2}, std::vector<int64_t>{1, 2}, {1, 2, 1, 2}));
  expect_error([&] { parse_smtx_conv(matrix, "3x1x2", "--smtx-conv"); },
               {"--smtx-conv", "3x1x2", "6", "4"});
  expect_error([&] { parse_smtx_conv(matrix, "4", "--smtx-conv"); }, {"--smtx-conv", "ICxKHxKW"});
}

TEST(ConvArguments, TextNamesWhatDiffersFromTheDefault) {
  EXPECT_EQ(to_text(Conv2d{}), "");
  EXPECT_EQ(to_text(Conv2d{.stride = {2, 1}, .padding = 1, .groups = 4}),
            "stride 2x1, padding 1, groups 4");
  EXPECT_EQ(to_text(Conv2d{.padding = Padding2d::same(), .dilation = 2}),
            "padding same, dilation 2");
  EXPECT_EQ(to_text(Conv2d{.padding = {0, 1, 0, 1}}), "padding 0x1x0x1");
}

}  // namespace
}  // namespace sparsejit::test
