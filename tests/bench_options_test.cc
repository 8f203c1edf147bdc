// What `bench` makes of the options for convolutions, mask files and suites, and how it refuses
// wrong ones: one sentence with the option, the value and what was expected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
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

TEST(BenchOptions, SweepsAreRangesOfRoundSparsities) {
  BenchTexts texts = conv_texts();
  const auto sparsities = [&](const char* text) {
    texts.sparsities = text;
    std::vector<double> listed;
    for (const Workload& workload : parse_bench_options(texts).workloads) {
      listed.push_back(workload.sparsity);
    }
    return listed;
  };
  EXPECT_EQ(sparsities("0.92:0.98"), (std::vector<double>{0.92, 0.93, 0.95, 0.97, 0.98}));
  EXPECT_EQ(sparsities("0.5:0.55"), (std::vector<double>{0.5, 0.55}));
  EXPECT_EQ(sparsities("sweep"), sparsities("0.5:0.995"));
  EXPECT_GE(sparsities("sweep").size(), 10U);
  expect_refused([](BenchTexts& t) { t.sparsities = "0.9:0.5"; }, {"--sparsity", "0.9:0.5"});
  expect_refused([](BenchTexts& t) { t.sparsities = "0.5:1"; }, {"--sparsity", "1", "sparsity"});
  expect_refused([](BenchTexts& t) { t.sparsities = "0.5:"; }, {"--sparsity", "\"\""});
}

TEST(BenchOptions, SuitesThatAreNoNetworksTakeSparsities) {
  BenchTexts texts;
  texts.suite = "paper";
  texts.sparsities = "0.5,0.6";
  EXPECT_EQ(parse_bench_options(texts).workloads.size(), 6U);
  texts.batches = "8";
  expect_error([&] { parse_bench_options(texts); }, {"--batch", "8", "paper"});
  texts.suite = "small";
  const BenchOptions options = parse_bench_options(texts);
  EXPECT_EQ(options.workloads.size(), 8U);
  EXPECT_FALSE(options.network);
}

TEST(BenchOptions, ResultsFromAFileLeaveNothingToMeasure) {
  BenchTexts texts;
  texts.report.results = "old.json";
  expect_error([&] { parse_bench_options(texts); }, {"--results", "old.json", "--csv"});
  texts.report.csv = "-";
  EXPECT_TRUE(parse_bench_options(texts).workloads.empty());
  texts.batches = "8";
  expect_error([&] { parse_bench_options(texts); }, {"--batch", "8", "--results"});
}

TEST(BenchOptions, ReportsThatCannotBeMadeAreRefused) {
  expect_refused([](BenchTexts& t) { t.report.json = t.report.svg = "-"; }, {"2 of them are -"});
  expect_refused([](BenchTexts& t) { t.report.threshold = "0.1"; }, {"--threshold", "--compare"});
  expect_refused([](BenchTexts& t) { t.report.compare = "a", t.report.threshold = "0"; },
                 {"--threshold", "0", "more than 0"});
  expect_refused([](BenchTexts& t) { t.report.svg = "a", t.sparsities = "0.9"; },
                 {"--svg", "0.9", "sweep"});
  expect_refused([](BenchTexts& t) { t.report.svg = "a", t.engines = "native,paper_loop"; },
                 {"--svg", "dense"});
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

TEST(BenchOptions, FoldersOfMasksGiveALayerForEachFile) {
  const std::filesystem::path folder = ::testing::TempDir() + "masks" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  BenchTexts texts;
  texts.suite = "dlmc";
  expect_error([&] { parse_bench_options(texts); }, {"--masks", "folder"});
  texts.masks = folder.string();
  expect_error([&] { parse_bench_options(texts); }, {"--masks", folder.string(), "no .smtx"});
  std::ofstream(folder / "b_0.5.smtx") << Mask::random({4, 6}, 0.5, 1).to_smtx();
  std::ofstream(folder / "a.smtx") << Mask::random({8, 6}, 0.75, 1).to_smtx();
  std::ofstream(folder / "notes.txt") << "none";
  texts.batches = "3,5";
  const std::vector<Workload> workloads = parse_bench_options(texts).workloads;
  ASSERT_EQ(workloads.size(), 4U);
  EXPECT_EQ(layer_text(workloads[1]), "6x8 batch 5");
  EXPECT_EQ(workloads[1].mask_name, "a");
  EXPECT_EQ(workloads[2].mask_name, "b_0.5");
  EXPECT_EQ(workloads[2].sparsity, 0.5);
  std::filesystem::remove_all(folder);
  expect_error([&] { parse_bench_options(texts); }, {"--masks", folder.string(), "cannot list"});
  texts.suite = "small";
  expect_error([&] { parse_bench_options(texts); }, {"--masks", "--suite dlmc"});
}

}  // namespace
}  // namespace sparsejit::test
