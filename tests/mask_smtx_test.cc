// Masks from .smtx text: the format, its tolerated variations, and every way a file can be wrong.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "sparsejit/mask.h"
#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

const char* const kSmall = "4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n";

Mask small_mask() {
  return Mask::from_csr(std::vector<int64_t>{0, 2, 2, 3, 5}, std::vector<int64_t>{0, 4, 1, 2, 5},
                        {4, 6});
}

void expect_rejected(const std::string& text, std::initializer_list<std::string> fragments) {
  SCOPED_TRACE(text.substr(0, 60));
  expect_error([&] { Mask::from_smtx(text, "bad.smtx"); }, fragments);
  expect_error([&] { Mask::from_smtx(text, "bad.smtx"); }, {"bad.smtx"});
}

TEST(MaskSmtx, ReadsTheThreeLines) { EXPECT_EQ(Mask::from_smtx(kSmall), small_mask()); }

TEST(MaskSmtx, ToleratesBlanksLineEndsAndAMissingLastNewline) {
  EXPECT_EQ(Mask::from_smtx("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5"), small_mask());
  EXPECT_EQ(Mask::from_smtx("4, 6, 5\r\n0 2 2 3 5\r\n0 4 1 2 5\r\n"), small_mask());
  EXPECT_EQ(Mask::from_smtx("4, 6, 5 \n0 2 2 3 5 \n0 4 1 2 5 \n"), small_mask());
  EXPECT_EQ(Mask::from_smtx("4,6,5\n0 2  2\t3 5\n0 4 1 2 5\n\n"), small_mask());
}

TEST(MaskSmtx, AcceptsAMaskWithoutStoredWeights) {
  const Mask empty = Mask::random({2, 3}, 1.0, 1);
  EXPECT_EQ(Mask::from_smtx("2, 3, 0\n0 0 0\n\n"), empty);
  EXPECT_EQ(Mask::from_smtx("2, 3, 0\n0 0 0\n"), empty);
  EXPECT_EQ(Mask::from_smtx("2, 3, 0\n0 0 0"), empty);
}

TEST(MaskSmtx, RoundTripKeepsContentAndHash) {
  for (const MaskShape shape : {MaskShape{1, 1}, {5, 3}, {17, 64}, {0, 4}, {4, 0}}) {
    for (const double sparsity : {0.0, 0.7, 1.0}) {
      const Mask mask = Mask::random(shape, sparsity, 11);
      const Mask again = Mask::from_smtx(mask.to_smtx());
      EXPECT_EQ(again, mask);
      EXPECT_EQ(again.hash(), mask.hash());
    }
  }
}

TEST(MaskSmtx, NamesOtherFormatsOfMasks) {
  expect_rejected("\x93NUMPY\x01", {".npy", "expected .smtx", "load_npy_mask"});
  expect_rejected("%%MatrixMarket matrix coordinate pattern general\n1 1 0\n",
                  {".mtx", "expected .smtx", "load_mtx_mask"});
}

TEST(MaskSmtx, RejectsTruncatedText) {
  expect_rejected("", {"line 1"});
  expect_rejected("\n", {"line 1"});
  expect_rejected("4, 6\n0 2 2 3 5\n0 4 1 2 5\n", {"line 1", "2", "3"});
  expect_rejected("4, 6, 5\n", {"0", "5"});
  expect_rejected("4, 6, 5\n0 2 2 3\n0 4 1 2 5\n", {"4", "5"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n", {"0", "5"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2\n", {"4", "5"});
}

TEST(MaskSmtx, EveryPrefixIsRejectedOrReadAsWritten) {
  const std::string text = kSmall;
  for (size_t length = 0; length < text.size() - 1; ++length) {
    EXPECT_THROW(Mask::from_smtx(text.substr(0, length)), Error) << text.substr(0, length);
  }
}

TEST(MaskSmtx, RejectsWrongCounts) {
  expect_rejected("4, 6, 6\n0 2 2 3 5\n0 4 1 2 5\n", {"5", "6"});
  expect_rejected("4, 6, 4\n0 2 2 3 5\n0 4 1 2 5\n", {"5", "4"});
  expect_rejected("5, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n", {"5", "6"});
  expect_rejected("4, 6, 5, 9\n0 2 2 3 5\n0 4 1 2 5\n", {"line 1", "4", "3"});
  expect_rejected("4, 6, 5\n0 2 2 3 4\n0 4 1 2 5\n", {"4", "5"});
}

TEST(MaskSmtx, RejectsTrailingJunk) {
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n7\n", {"4"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5 x\n", {"x"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\njunk\n", {"junk"});
}

TEST(MaskSmtx, RejectsJunkAfterBlankLines) {
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n\njunk\n", {"junk"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n\n\n\n8 9\n", {"8"});
}

TEST(MaskSmtx, RejectsWordsFractionsAndComments) {
  expect_rejected("% comment\n4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n", {"%"});
  expect_rejected("4, 6, five\n0 2 2 3 5\n0 4 1 2 5\n", {"five"});
  expect_rejected("4, 6, 5\n0 2 2.5 3 5\n0 4 1 2 5\n", {"2.5"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5e0\n", {"5e0"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 2 0x5\n", {"0x5"});
  expect_rejected(std::string("4, 6, 5\n0 2 2 3 5\n0 4 1 \0 5\n", 28), {"line 3"});
}

TEST(MaskSmtx, RejectsEntriesThatCsrRejects) {
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 6 1 2 5\n", {"row 0", "6"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n4 0 1 2 5\n", {"row 0", "0", "4"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 4 1 5 5\n", {"row 3", "5"});
  expect_rejected("4, 6, 5\n0 3 2 3 5\n0 4 1 2 5\n", {"2", "3"});
  expect_rejected("4, 6, 5\n0 2 2 3 5\n0 -4 1 2 5\n", {"-4"});
}

TEST(MaskSmtx, HugeHeaderNumbersAreRejectedWithoutAllocating) {
  expect_rejected("2147483647, 2147483647, 2147483647\n0 1\n0\n", {"2147483648"});
  expect_rejected("9223372036854775807, 1, 1\n0 1\n0\n", {"9223372036854775807"});
  expect_rejected("99999999999999999999, 1, 1\n0 1\n0\n", {"99999999999999999999"});
  expect_rejected("1, 1, 9223372036854775807\n0 1\n0\n", {"9223372036854775807"});
  expect_rejected("-4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n", {"-4"});
  expect_rejected("4, 6, -5\n0 2 2 3 5\n0 4 1 2 5\n", {"-5"});
}

TEST(MaskSmtx, LoadsAFile) {
  const std::string path = ::testing::TempDir() + "sparsejit_mask_smtx_test.smtx";
  std::ofstream(path) << kSmall;
  EXPECT_EQ(Mask::load_smtx(path), small_mask());
  std::ofstream(path) << "4, 6, 5\n0 2 2 3 5\n0 4 1 2 9\n";
  expect_error([&] { Mask::load_smtx(path); }, {path, "row 3", "9"});
  std::remove(path.c_str());
}

TEST(MaskSmtx, NamesAFileThatCannotBeRead) {
  expect_error([] { Mask::load_smtx("/nonexistent/mask.smtx"); },
               {"/nonexistent/mask.smtx", "No such file"});
  expect_error([] { Mask::load_smtx(::testing::TempDir()); }, {::testing::TempDir()});
}

}  // namespace
}  // namespace sparsejit::test
