// Geometry of convolutions: sizes, streams, taps, and what is refused.
#include "sparsejit/conv2d.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"
#include "support/golden.h"

namespace sparsejit::test {
namespace {

constexpr MaskShape k3x3{2, 1, 3, 3};

TapTable lower(const Mask& mask, const Conv2d& conv, ImageSize input) {
  const Conv2d resolved = resolve_conv2d(mask.shape(), conv);
  return lower_conv2d(mask, resolved, plan_streams(mask.shape(), resolved, input));
}

TEST(Conv2d, OutputSizeIsThatOfTheTextbook) {
  EXPECT_EQ(output_size({64, 3, 7, 7}, {.stride = 2, .padding = 3}, {224, 224}),
            (ImageSize{112, 112}));
  EXPECT_EQ(output_size(k3x3, {.padding = 1}, {7, 9}), (ImageSize{7, 9}));
  EXPECT_EQ(output_size(k3x3, {.stride = {2, 3}, .dilation = {1, 2}}, {8, 8}), (ImageSize{3, 2}));
  EXPECT_EQ(output_size({1, 1, 1, 1}, {.padding = 4}, {1, 1}), (ImageSize{9, 9}));
}

// The gap behind a row is the padding of both of its neighbours.
TEST(Conv2d, RowsShareTheirPadding) {
  const ConvStreams streams = plan_streams(k3x3, {.padding = 1}, {7, 7});
  EXPECT_EQ(streams.grid.row_pitch, 8);
  EXPECT_EQ(streams.grid.image_rows, 8);
  EXPECT_EQ(streams.grid.halo_rows, 1);
  EXPECT_EQ(streams.grid.halo_columns, 1);
  EXPECT_EQ(streams.grid.length(1, 7), 6 * 8 + 7);
  EXPECT_EQ(streams.grid.length(3, 7), 2 * 64 + 6 * 8 + 7);
}

TEST(Conv2d, PointwiseStreamsHaveNoGaps) {
  const ConvStreams streams = plan_streams({4, 4, 1, 1}, {}, {5, 6});
  EXPECT_EQ(streams.grid.image_pitch(), 30);
  EXPECT_EQ(streams.grid.halo_rows + streams.grid.halo_columns, 0);
}

TEST(Conv2d, LinearLayersAreImagesOfOnePixel) {
  const Mask mask = Mask::random({9, 13}, 0.6, 1);
  const ConvStreams streams = plan_streams(mask.shape(), {}, {1, 1});
  EXPECT_EQ(streams.grid, StreamGrid{});
  EXPECT_EQ(lower(mask, {}, {1, 1}), lower_linear(mask));
}

// A stride makes planes only of the phases that some tap meets.
TEST(Conv2d, StridesSplitTheInputIntoPhases) {
  const ConvStreams all = plan_streams(k3x3, {.stride = 2, .padding = 1}, {7, 8});
  ASSERT_EQ(all.source.planes.size(), 4U);
  EXPECT_EQ(all.source.planes[0], (StreamPlane{0, 0, 4, 4}));
  EXPECT_EQ(all.source.planes[3], (StreamPlane{1, 1, 3, 4}));
  const ConvStreams one = plan_streams({4, 4, 1, 1}, {.stride = 3}, {8, 8});
  EXPECT_EQ(one.source.planes, (std::vector<StreamPlane>{{0, 0, 3, 3}}));
  const ConvStreams dilated = plan_streams(k3x3, {.stride = 2, .dilation = 2}, {9, 9});
  EXPECT_EQ(dilated.source.planes.size(), 1U);
}

TEST(Conv2d, TapsOfSmallConvolutionsAreGolden) {
  std::string text;
  const Mask full = Mask::random({2, 2, 2, 3}, 0.25, 3);
  for (const Conv2d& conv : {Conv2d{}, Conv2d{.padding = 1}, Conv2d{.stride = 2, .padding = {0, 1}},
                             Conv2d{.dilation = {2, 1}, .groups = 2}}) {
    const TapTable table = lower(full, conv, {5, 6});
    EXPECT_NO_THROW(verify_taps(table));
    EXPECT_NO_THROW(verify_taps(transpose(table)));
    text += fmt::format("stride {} padding {} {} dilation {} groups {}\n", conv.stride.h,
                        conv.padding.top, conv.padding.left, conv.dilation.h, conv.groups);
    text += "by destination\n" + to_text(table) + "by source\n" + to_text(transpose(table));
  }
  expect_golden("conv2d_taps.txt", text);
}

TEST(Conv2d, TapsWithoutShiftsReadTheSame) {
  const Mask mask = Mask::random({4, 3, 3, 2}, 0.3, 3);
  for (const Conv2d& conv :
       {Conv2d{.padding = 1}, Conv2d{.stride = {2, 3}, .padding = {0, 2}},
        Conv2d{.padding = 4, .dilation = {2, 5}}, Conv2d{.stride = 2, .groups = 2}}) {
    const Conv2d resolved = resolve_conv2d(mask.shape(), conv);
    const ConvStreams streams = plan_streams(mask.shape(), resolved, {11, 9});
    const TapTable table = lower_conv2d(mask, resolved, streams);
    const auto shifted = shifted_planes(mask.shape(), resolved, streams);
    EXPECT_EQ(shifted.size(), 6U);
    const TapTable plain = unshift(table, std::ssize(streams.source.planes), shifted);
    EXPECT_NO_THROW(verify_taps(plain));
    EXPECT_EQ(plain.row_begin, table.row_begin);
    EXPECT_EQ(plain.streams, 3 * conv.groups * 6);
    const auto planes = static_cast<int32_t>(streams.source.planes.size());
    for (int64_t i = 0; i < table.size(); ++i) {
      const Tap& tap = plain.taps[i];
      const ShiftedPlane& read = shifted[tap.stream % 6];
      const Tap back{
          .stream = tap.stream / 6 * planes + read.plane, .shift = read.shift, .value = tap.value};
      EXPECT_EQ(tap.shift, 0);
      EXPECT_EQ(back, table.taps[i]);
    }
  }
}

TEST(Conv2d, SamePaddingPutsTheOddOneBehind) {
  const Conv2d conv =
      resolve_conv2d({1, 1, 4, 3}, {.padding = Padding2d::same(), .dilation = {1, 2}});
  EXPECT_EQ(conv.padding.top, 1);
  EXPECT_EQ(conv.padding.bottom, 2);
  EXPECT_EQ(conv.padding.left, 2);
  EXPECT_EQ(conv.padding.right, 2);
}

TEST(Conv2d, WrongGeometryIsNamed) {
  const auto resolve = [](const Conv2d& conv) { resolve_conv2d({4, 2, 3, 3}, conv); };
  expect_error([&] { resolve({.stride = 0}); }, {"stride", "0"});
  expect_error([&] { resolve({.stride = {1, -2}}); }, {"stride", "-2"});
  expect_error([&] { resolve({.dilation = 0}); }, {"dilation", "0"});
  expect_error([&] { resolve({.padding = -1}); }, {"padding", "-1"});
  expect_error([&] { resolve({.padding = {0, 0, -3, 0}}); }, {"padding", "-3"});
  expect_error([&] { resolve({.groups = 3}); }, {"groups", "3", "4 output channels"});
  expect_error([&] { resolve({.groups = 0}); }, {"groups", "0"});
  expect_error([&] { resolve({.stride = 2, .padding = Padding2d::same()}); }, {"same", "stride"});
  expect_error([&] { resolve({.stride = std::numeric_limits<int64_t>::max()}); }, {"stride"});
  expect_error([&] { resolve({.padding = std::numeric_limits<int64_t>::max()}); }, {"padding"});
  expect_error([&] { resolve_conv2d({1 << 20, 1 << 20, 1, 1}, {.groups = 1 << 20}); }, {"groups"});
}

TEST(Conv2d, ImagesThatCannotBeAreNamed) {
  const auto size = [](const Conv2d& conv, ImageSize input) { output_size(k3x3, conv, input); };
  expect_error([&] { size({}, {2, 9}); }, {"empty", "2x9", "3x3"});
  expect_error([&] { size({.dilation = 4}, {8, 12}); }, {"empty", "8x12", "9x9"});
  expect_error([&] { size({.padding = 1}, {0, 3}); }, {"0x3"});
  expect_error([&] { size({.padding = 1}, {3, -1}); }, {"3x-1"});
  expect_error([&] { size({.padding = 1}, {int64_t{1} << 40, 3}); }, {"1099511627776"});
}

// One sentence, not a shift that wraps around 32 bits.
TEST(Conv2d, ShiftsBeyondThirtyOneBitsAreRefused) {
  expect_error(
      [] {
        plan_streams(k3x3, {.padding = 4000, .dilation = 4000}, {1 << 20, 1 << 20});
      },
      {"rows", "expected at most"});
}

TEST(Conv2d, MasksOfFourDimensionsKeepTheirShape) {
  const Mask mask = Mask::random({6, 2, 3, 5}, 0.5, 1);
  EXPECT_EQ(mask.rows(), 6);
  EXPECT_EQ(mask.cols(), 30);
  EXPECT_EQ(mask.nnz(), 90);
  EXPECT_EQ(to_text(mask.shape()), "6x2x3x5");
  const Mask flat = mask.reshaped({6, 30});
  EXPECT_FALSE(flat == mask);
  EXPECT_FALSE(flat.hash() == mask.hash());
  EXPECT_EQ(flat.reshaped(mask.shape()), mask);
  expect_error([&] { static_cast<void>(mask.reshaped({6, 3, 3, 3})); }, {"6x2x3x5", "6x3x3x3"});
  expect_error([] { Mask::random({1, 1 << 20, 1 << 20, 1}, 1, 1); }, {"mask", "1048576"});
}

// Column (kh * KW + kw) * IC + ic of the matrix is weight (ic, kh, kw).
TEST(Conv2d, ChannelsLastMatricesAreReordered) {
  const MaskShape shape{1, 3, 2, 2};
  for (int64_t kernel = 0; kernel < 4; ++kernel) {
    for (int64_t channel = 0; channel < 3; ++channel) {
      std::vector<uint8_t> matrix(12, 0);
      matrix[kernel * 3 + channel] = 1;
      const Mask mask = Mask::from_channels_last(Mask::from_dense(matrix, {1, 12}), shape);
      ASSERT_EQ(mask.nnz(), 1);
      EXPECT_EQ(mask.columns()[0], channel * 4 + kernel);
      EXPECT_EQ(mask.shape(), shape);
    }
  }
  expect_error([&] { Mask::from_channels_last(Mask::random({1, 13}, 0, 1), shape); }, {"1x13"});
}

}  // namespace
}  // namespace sparsejit::test
