// What `bench` makes of the options for convolutions, mask files and suites, and how it refuses
// wrong ones: one sentence with the option, the value and what was expected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>

#include "bench/options.h"
#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

BenchTexts conv_texts() {
  BenchTexts texts;
  texts.conv.convs = {"128x256x3x3"};
  texts.conv.image = "7x9";
  texts.batches = "8";
  texts.sparsities = "0.95,0.99";
  return texts;
}

TEST(BenchOptions, ConvolutionsTakeOneNumberOrTwoForEachAxis) {
  BenchTexts texts = conv_texts();
  texts.conv.geometry.stride = "2";
  texts.conv.geometry.padding = "1x0";
  texts.conv.geometry.dilation = "1x2";
  texts.conv.geometry.groups = "4";
  texts.layout = "channels-last";
  const BenchOptions options = parse_bench_options(texts);
  ASSERT_EQ(options.workloads.size(), 2U);
  const Workload& workload = options.workloads[1];
  EXPECT_EQ(layer_name(workload), "128x256x3x3");
  EXPECT_EQ(layer_text(workload),
            "128x256x3x3 on 7x9, stride 2, padding 1x0, dilation 1x2, groups 4, batch 8");
  EXPECT_EQ(workload.sparsity, 0.99);
  EXPECT_EQ(workload.layout, Layout::row_major);
  EXPECT_EQ(weight_shape(workload), (MaskShape{256, 32, 3, 3}));
}

TEST(BenchOptions, ConvolutionsDefaultToNoPaddingAndNchw) {
  const Workload workload = parse_bench_options(conv_texts()).workloads.front();
  EXPECT_EQ(workload.conv->conv, Conv2d{});
  EXPECT_STREQ(layout_name(workload, workload.layout), "nchw");
  EXPECT_EQ(extents(workload).output, (ImageSize{5, 7}));
}

TEST(BenchOptions, PaddingSameKeepsTheSizeOfTheImage) {
  BenchTexts texts = conv_texts();
  texts.conv.geometry.padding = "same";
  const Workload workload = parse_bench_options(texts).workloads.front();
  EXPECT_EQ(extents(workload).output, (ImageSize{7, 9}));
}

TEST(BenchOptions, ShapesAndConvolutionsAreMeasuredInOneRun) {
  BenchTexts texts = conv_texts();
  texts.shapes = {"64x32"};
  const BenchOptions options = parse_bench_options(texts);
  ASSERT_EQ(options.workloads.size(), 4U);
  EXPECT_FALSE(options.workloads[0].conv);
  EXPECT_TRUE(options.workloads[2].conv);
}

// Sets one option of conv_texts to a wrong value.
void expect_refused(const std::function<void(BenchTexts&)>& change,
                    std::initializer_list<std::string> fragments) {
  BenchTexts texts = conv_texts();
  change(texts);
  expect_error([&] { parse_bench_options(texts); }, fragments);
}

TEST(BenchOptions, WrongGeometryNamesOptionValueAndExpectation) {
  expect_refused([](BenchTexts& t) { t.conv.convs = {"128x256"}; },
                 {"--conv", "\"128x256\"", "INxOUTxKHxKW"});
  expect_refused([](BenchTexts& t) { t.conv.image = "7"; }, {"--image", "\"7\"", "HEIGHTxWIDTH"});
  expect_refused([](BenchTexts& t) { t.conv.image.reset(); }, {"--image", "HxW"});
  expect_refused([](BenchTexts& t) { t.conv.image = "2x9"; },
                 {"--conv", "128x256x3x3", "2x9", "3x3"});
  expect_refused([](BenchTexts& t) { t.conv.geometry.stride = "0"; },
                 {"--stride", "\"0\"", "positive"});
  expect_refused([](BenchTexts& t) { t.conv.geometry.groups = "3"; },
                 {"--groups", "3", "128 input channels"});
  expect_refused([](BenchTexts& t) { t.conv.convs = {"9x8x3x3"}, t.conv.geometry.groups = "3"; },
                 {"--conv", "9x8x3x3", "groups is 3", "8 output channels"});
  expect_refused([](BenchTexts& t) { t.layout = "nhwc"; }, {"--layout", "\"nhwc\"", "nchw"});
  expect_refused(
      [](BenchTexts& t) { t.conv.geometry.padding = "same", t.conv.geometry.stride = "2"; },
      {"--conv", "'same'", "stride 1"});
}

TEST(BenchOptions, GeometryWithoutAConvolutionIsRefused) {
  BenchTexts texts;
  texts.conv.geometry.stride = "2";
  expect_error([&] { parse_bench_options(texts); }, {"--stride: 2", "--conv"});
  BenchTexts smtx;
  smtx.smtx_conv = "3x7x7";
  expect_error([&] { parse_bench_options(smtx); }, {"--smtx-conv", "3x7x7", "--mask"});
}

TEST(BenchOptions, SuitesTakeOneBatchAndSparsityAndNoOtherLayers) {
  BenchTexts texts;
  texts.suite = "resnet50";
  const BenchOptions options = parse_bench_options(texts);
  EXPECT_EQ(options.network, Suite::resnet50);
  EXPECT_EQ(options.workloads.front().batch, 16);
  EXPECT_EQ(options.workloads.front().sparsity, 0.95);
  texts.sparsities = "0.9,0.95";
  expect_error([&] { parse_bench_options(texts); }, {"--sparsity", "0.9,0.95", "one number"});
  texts.sparsities.reset();
  texts.shapes = {"8x8"};
  expect_error([&] { parse_bench_options(texts); }, {"--shape", "8x8", "--suite"});
  texts.shapes.clear();
  texts.suite = "vgg";
  expect_error([&] { parse_bench_options(texts); }, {"--suite", "\"vgg\"", "resnet18"});
}

class MaskFile {
 public:
  explicit MaskFile(const Mask& mask)
      : path_(::testing::TempDir() + std::to_string(getpid()) + ".smtx") {
    std::ofstream(path_) << mask.to_smtx();
  }
  ~MaskFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(BenchOptions, MaskFilesGiveShapeAndSparsity) {
  const Mask matrix = Mask::random({16, 36}, 0.75, 3);
  const MaskFile file(matrix);
  BenchTexts texts;
  texts.mask = file.path();
  const Workload linear = parse_bench_options(texts).workloads.front();
  EXPECT_EQ(layer_text(linear), "36x16 batch 128");
  EXPECT_EQ(linear.sparsity, 0.75);
  EXPECT_EQ(linear.mask, matrix);

  texts.smtx_conv = "4x3x3";
  texts.conv.image = "5x5";
  const Workload conv = parse_bench_options(texts).workloads.front();
  EXPECT_EQ(layer_text(conv), "4x16x3x3 on 5x5, batch 16");
  EXPECT_EQ(conv.mask, Mask::from_channels_last(matrix, {16, 4, 3, 3}));

  texts.mask = file.path() + ".none";
  expect_error([&] { parse_bench_options(texts); }, {"--mask", texts.mask.value()});
  texts.mask = file.path();
  texts.smtx_conv = "5x3x3";
  expect_error([&] { parse_bench_options(texts); }, {"--smtx-conv", "5x3x3", "36"});
  texts.smtx_conv = "4x3x3";
  texts.sparsities = "0.5";
  expect_error([&] { parse_bench_options(texts); }, {"--sparsity", "0.5", "--mask"});
}

}  // namespace
}  // namespace sparsejit::test
