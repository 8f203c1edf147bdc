// Data sets: the embedded digits, IDX folders plain and compressed, and every way they can be
// wrong.
#include "train/dataset.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

using namespace frontend;
using Bytes = std::vector<uint8_t>;

Bytes idx(uint8_t rank, const std::vector<uint32_t>& sizes, const Bytes& payload) {
  Bytes bytes = {0, 0, 8, rank};
  for (const uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(size >> shift));
  }
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// A folder with three training and two test images of 1x2 pixels, all right until a test breaks it.
class DatasetFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("sparsejit_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    write("train-images-idx3-ubyte", idx(3, {3, 1, 2}, {10, 20, 30, 40, 50, 100}));
    write("train-labels-idx1-ubyte", idx(1, {3}, {0, 1, 9}));
    write("t10k-images-idx3-ubyte", idx(3, {2, 1, 2}, {7, 8, 9, 200}));
    write("t10k-labels-idx1-ubyte", idx(1, {2}, {2, 3}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const Bytes& bytes) {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void expect_rejected(std::initializer_list<std::string> fragments) {
    expect_error([&] { load_dataset(folder_.string()); }, fragments);
  }

  std::filesystem::path folder_;
};

TEST(EmbeddedDigits, AreTheUciDigits) {
  const Dataset data = embedded_digits();
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.train.count, 1438);
  EXPECT_EQ(data.test.count, 359);
  EXPECT_EQ(data.train.features(), 64);
  EXPECT_EQ(data.train.pixels.size(), size_t{1438} * 64);
  EXPECT_FLOAT_EQ(data.pixel_scale, 1.0F / 16);
  std::vector<int64_t> of_class(10, 0);
  for (const uint8_t label : data.train.labels) ++of_class.at(label);
  for (const uint8_t label : data.test.labels) ++of_class.at(label);
  const std::vector<int64_t> published = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  EXPECT_EQ(of_class, published);
}

TEST_F(DatasetFolder, IsRead) {
  const Dataset data = load_dataset(folder_.string());
  EXPECT_EQ(data.train.pixels, (Bytes{10, 20, 30, 40, 50, 100}));
  EXPECT_EQ(data.train.labels, (Bytes{0, 1, 9}));
  EXPECT_EQ(data.test.count, 2);
  EXPECT_EQ(data.test.features(), 2);
  EXPECT_FLOAT_EQ(data.pixel_scale, 0.01F);
}

TEST_F(DatasetFolder, MayBeCompressed) {
  const Bytes bytes = idx(1, {3}, {5, 6, 7});
  std::filesystem::remove(folder_ / "train-labels-idx1-ubyte");
  gzFile file = gzopen((folder_ / "train-labels-idx1-ubyte.gz").c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(load_dataset(folder_.string()).train.labels, (Bytes{5, 6, 7}));
}

TEST_F(DatasetFolder, MissingFolderAndFileAreNamed) {
  expect_error([] { load_dataset("/nonexistent/folder"); }, {"/nonexistent/folder"});
  std::filesystem::remove(folder_ / "t10k-labels-idx1-ubyte");
  expect_rejected({"t10k-labels-idx1-ubyte"});
}

TEST_F(DatasetFolder, WrongMagicIsNamed) {
  write("train-images-idx3-ubyte", idx(1, {8}, Bytes(8, 1)));  // labels in its place
  expect_rejected({"train-images-idx3-ubyte", "0x00000801", "0x00000803"});
}

TEST_F(DatasetFolder, TruncatedAndOverlongFilesAreNamed) {
  write("train-images-idx3-ubyte", idx(3, {3, 1, 2}, {10, 20, 30, 40, 50}));
  expect_rejected({"train-images-idx3-ubyte", "5"});
  write("train-images-idx3-ubyte", idx(3, {3, 1, 2}, {10, 20, 30, 40, 50, 60, 70}));
  expect_rejected({"train-images-idx3-ubyte", "7"});
  write("train-images-idx3-ubyte", {0, 0, 8});
  expect_rejected({"train-images-idx3-ubyte", "3"});
  write("train-images-idx3-ubyte", {});
  expect_rejected({"train-images-idx3-ubyte", "0"});
}

TEST_F(DatasetFolder, HugeHeaderIsRejectedWithoutAllocating) {
  constexpr uint32_t kHuge = 0xFFFFFFFF;
  write("train-images-idx3-ubyte", idx(3, {kHuge, kHuge, kHuge}, {1, 2, 3}));
  expect_rejected({"train-images-idx3-ubyte", "4294967295"});
}

TEST_F(DatasetFolder, EmptySizesAreNamed) {
  write("train-images-idx3-ubyte", idx(3, {0, 1, 2}, {}));
  expect_rejected({"train-images-idx3-ubyte", "0 x 1 x 2"});
}

TEST_F(DatasetFolder, CountsThatDisagreeAreNamed) {
  write("train-labels-idx1-ubyte", idx(1, {2}, {0, 1}));
  expect_rejected({"train-labels-idx1-ubyte", "2", "3"});
}

TEST_F(DatasetFolder, LabelsBeyondTheClassesAreNamed) {
  write("train-labels-idx1-ubyte", idx(1, {3}, {0, 10, 1}));
  expect_rejected({"train-labels-idx1-ubyte", "10", "0..9"});
}

TEST_F(DatasetFolder, ImagesOfDifferentSizesAreNamed) {
  write("t10k-images-idx3-ubyte", idx(3, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  expect_rejected({"2x2", "1x2"});
}

TEST_F(DatasetFolder, TruncatedCompressionIsNamed) {
  Bytes noise(4000);
  for (size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<uint8_t>(i * i * 31 >> 3);
  const Bytes bytes = idx(1, {4000}, noise);
  const std::filesystem::path path = folder_ / "train-labels-idx1-ubyte.gz";
  std::filesystem::remove(folder_ / "train-labels-idx1-ubyte");
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_rejected({"train-labels-idx1-ubyte.gz"});
}

TEST_F(DatasetFolder, ImagesBecomeColumnsOfTheInput) {
  const Dataset data = load_dataset(folder_.string());
  StreamMatrix input(3, 2);
  const std::vector<int64_t> samples = {2, 0};
  gather_images(data.train, data.pixel_scale, samples, input);
  EXPECT_FLOAT_EQ(input.stream(0)[0], 0.5F);
  EXPECT_FLOAT_EQ(input.stream(1)[0], 1.0F);
  EXPECT_FLOAT_EQ(input.stream(0)[1], 0.1F);
  EXPECT_FLOAT_EQ(input.stream(1)[1], 0.2F);
}

}  // namespace
}  // namespace sparsejit::test
