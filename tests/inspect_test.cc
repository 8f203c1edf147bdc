// inspect: the sections of a report for layers small enough to read, and its options.
#include <gtest/gtest.h>

#include <algorithm>

#include "inspect/inspect_options.h"
#include "inspect/inspection.h"
#include "inspect/report.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

// Without sizes of code in bytes and times.
std::string stable_part(const std::string& plan) { return plan.substr(0, plan.find("sizes\n")); }

std::string report_text(const std::shared_ptr<const InspectedLayer>& layer,
                        const InspectRequest& request,
                        const MachineModel& machine = made_up_machine()) {
  std::string text = mask_text(*layer);
  if (layer->conv) text += conv_text(*layer->conv);
  for (const PassInspection& pass : inspect_passes(layer, request, machine)) {
    for (const KernelInspection& kernel : pass.kernels) {
      const ReportOptions all{.max_lines = 0};
      const Listing listing = list_code(kernel, {});
      text += "\n==== " + std::string(to_text(pass.pass)) + ", " + to_text(kernel.plan.kind) +
              '\n' + stable_part(plan_section(kernel)) + taps_section(kernel, listing, all) +
              listing_section(kernel, listing, all);
    }
  }
  return text;
}

std::string conv_report(const Mask& mask, const Conv2d& conv, ImageSize image) {
  const auto layer = std::make_shared<const InspectedLayer>(mask, conv, image);
  LayerOptions options;
  options.batch = 2;
  options.image = image;
  return report_text(layer, {.options = options, .passes = {Pass::forward, Pass::backward}});
}

TEST(InspectText, Convolution) {
  const Mask mask = Mask::random({2, 2, 3, 3}, 0.7, 3);
  expect_golden("inspect_conv.txt", conv_report(mask, {.padding = 1}, {5, 4}));
}

TEST(InspectText, ConvolutionWithPlanes) {
  const Mask mask = Mask::random({2, 2, 3, 3}, 0.7, 3);
  expect_golden("inspect_conv_stride.txt", conv_report(mask, {.stride = 2, .padding = 1}, {6, 6}));
}

// Two blocks: sums of the first one wait in tiles.
TEST(InspectText, Tiles) {
  const auto layer = std::make_shared<const InspectedLayer>(Mask::random({5, 110}, 0.93, 4));
  LayerOptions options;
  options.batch = 40;
  const InspectRequest request{.options = options, .passes = {Pass::forward}, .tiled = true};
  expect_golden("inspect_tiled.txt", report_text(layer, request));
  expect_golden("inspect_tiled_avx512.txt",
                report_text(layer, request, with_avx512(made_up_machine())));
}

TEST(InspectText, TilesNeedStreamsOfATile) {
  const auto layer = std::make_shared<const InspectedLayer>(Mask::random({5, 11}, 0.5, 4));
  LayerOptions options;
  options.batch = 15;
  const InspectRequest request{.options = options, .passes = {Pass::forward}, .tiled = true};
  expect_error([&] { inspect_passes(layer, request, made_up_machine()); }, {"--tiled", "15"});
}

TEST(InspectText, TilesOfConvolutionsHaveEachShiftedPlane) {
  const auto conv = std::make_shared<const InspectedLayer>(
      Mask::random({2, 2, 3, 3}, 0.5, 3), Conv2d{.stride = 2, .padding = 1}, ImageSize{9, 9});
  LayerOptions options;
  options.batch = 4;
  options.image = {9, 9};
  const InspectRequest request{.options = options, .passes = {Pass::forward}, .tiled = true};
  expect_golden("inspect_tiled_conv.txt", report_text(conv, request));
}

// 70 samples are three rounds of the loop over a strip.
TEST(InspectText, Strips) {
  const auto layer = std::make_shared<const InspectedLayer>(Mask::random({40, 40}, 0.2, 4));
  LayerOptions options;
  options.batch = 70;
  expect_golden("inspect_strips.txt",
                report_text(layer, {.options = options, .passes = {Pass::backward}},
                            with_avx512(made_up_machine())));
}

TEST(InspectText, StripsOfConvolutionsHaveEachShift) {
  const auto conv = std::make_shared<const InspectedLayer>(Mask::random({16, 16, 3, 3}, 0.2, 3),
                                                           Conv2d{.padding = 1}, ImageSize{9, 9});
  LayerOptions options;
  options.batch = 4;
  options.image = {9, 9};
  const std::string text = report_text(conv, {.options = options, .passes = {Pass::backward}},
                                       with_avx512(made_up_machine()));
  EXPECT_NE(text.find("fused strip"), std::string::npos) << text;
  EXPECT_NE(text.find("dy channel 1[-"), std::string::npos) << text;
}

TEST(InspectText, Tables) {
  const auto layer = std::make_shared<const InspectedLayer>(Mask::random({5, 8}, 0.7, 4));
  LayerOptions options;
  options.batch = 13;
  expect_golden("inspect_table.txt", report_text(layer, {.options = options,
                                                         .passes = {Pass::forward, Pass::backward},
                                                         .table = true}));
}

TEST(InspectText, TablesOfConvolutionsHaveShifts) {
  const auto conv = std::make_shared<const InspectedLayer>(Mask::random({2, 2, 3, 3}, 0.5, 3),
                                                           Conv2d{}, ImageSize{5, 5});
  LayerOptions options;
  options.batch = 1;
  options.image = {5, 5};
  const InspectRequest request{.options = options, .passes = {Pass::forward}, .table = true};
  const std::string text = report_text(conv, request);
  EXPECT_NE(text.find("x channel 1[+"), std::string::npos) << text;
}

// Streams shorter than a vector are packed.
TEST(InspectText, TablesOfSingleSamples) {
  const auto layer = std::make_shared<const InspectedLayer>(Mask::random({5, 11}, 0.5, 4));
  for (const int64_t batch : {1, 7, 8, 9}) {
    LayerOptions options;
    options.batch = batch;
    const InspectRequest request{
        .options = options, .passes = {Pass::forward, Pass::backward}, .table = true};
    for (const PassInspection& pass : inspect_passes(layer, request, made_up_machine())) {
      ASSERT_EQ(pass.kernels.size(), 1U);
      EXPECT_EQ(pass.kernels[0].plan.panel, std::max<int64_t>(batch, 8));
    }
  }
}

TEST(InspectText, TablesNeedShortStreams) {
  const auto layer = std::make_shared<const InspectedLayer>(Mask::random({5, 11}, 0.5, 4));
  LayerOptions options;
  options.batch = 65;
  const InspectRequest request{.options = options, .passes = {Pass::backward}, .table = true};
  expect_error([&] { inspect_passes(layer, request, made_up_machine()); }, {"--table", "65"});
}

TEST(InspectText, WeightsOfGroupsKeepTheirOwnChannelNumbers) {
  const InspectedLayer layer(Mask::random({4, 1, 2, 2}, 0.0, 1), {.groups = 4}, {3, 3});
  EXPECT_EQ(layer.weight_name(0), "W[0,0,0,0]");
  EXPECT_EQ(layer.weight_name(14), "W[3,0,1,0]");
  EXPECT_EQ(layer.input_name(3, false), "channel 3");
}

template <typename Change>
void expect_rejected(Change change, std::initializer_list<std::string> fragments) {
  InspectOptions options;
  options.conv = "4x6x3x3";
  options.sparsity = "0.5";
  options.image = "7x7";
  validate_options(options);
  change(options);
  expect_error(
      [&] {
        validate_options(options);
        make_layer(options);
      },
      fragments);
}

TEST(InspectOptions, OfConvolutionsAreChecked) {
  expect_rejected([](auto& o) { o.image = ""; }, {"--image", "7x7"});
  expect_rejected([](auto& o) { o.image = "1x1"; }, {"1x1", "empty"});
  expect_rejected([](auto& o) { o.random = "4x6"; }, {"--random 4x6", "--conv 4x6x3x3"});
  expect_rejected([](auto& o) { o.smtx_conv = "4x3x3"; }, {"--smtx-conv", "4x3x3"});
  expect_rejected([](auto& o) { o.sparsity = ""; }, {"--conv", "--sparsity"});
  expect_rejected([](auto& o) { o.pitch = 512; }, {"--pitch", "512"});
  expect_rejected([](auto& o) { o.geometry.groups = "3"; }, {"--groups", "3", "4"});
  expect_rejected([](auto& o) { o.geometry.groups = "4"; }, {"groups", "4", "6"});
  expect_rejected(
      [](auto& o) {
        o.conv = "";
        o.random = "4x6";
      },
      {"--image", "7x7", "--conv"});
}

TEST(InspectOptions, GroupsShareTheInputChannels) {
  InspectOptions options;
  options.conv = "4x6x3x3";
  options.sparsity = "0.5";
  options.image = "7x7";
  options.geometry.groups = "2";
  EXPECT_EQ(make_layer(options).mask.shape(), (MaskShape{6, 2, 3, 3}));
}

}  // namespace
}  // namespace sparsejit::test
