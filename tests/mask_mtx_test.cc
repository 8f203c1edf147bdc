// Masks from Matrix Market text: the fields it has, and every way a file can be wrong.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "sparsejit/mask_files.h"
#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

const Mask kMask = Mask::from_smtx("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n");
const std::string kPattern = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string kReal = "%%MatrixMarket matrix coordinate real general\n";
const std::string kInteger = "%%MatrixMarket matrix coordinate integer general\n";
const std::string kEntries = "4 6 5\n1 1\n1 5\n3 2\n4 3\n4 6\n";

void expect_rejected(const std::string& text, std::initializer_list<std::string> fragments) {
  SCOPED_TRACE(text.substr(0, 90));
  expect_error([&] { parse_mtx_mask(text, "bad.mtx"); }, fragments);
  expect_error([&] { parse_mtx_mask(text, "bad.mtx"); }, {"bad.mtx: "});
}

TEST(MaskMtx, ReadsPatterns) { EXPECT_EQ(parse_mtx_mask(kPattern + kEntries), kMask); }

// A stored weight may be 0.0: what is listed is stored.
TEST(MaskMtx, StoresEveryListedEntryWhateverItsValue) {
  EXPECT_EQ(parse_mtx_mask(kReal + "4 6 5\n1 1 0\n1 5 -1.5e+3\n3 2 +.5\n4 3 nan\n4 6 1e-999\n"),
            kMask);
  EXPECT_EQ(parse_mtx_mask(kInteger + "4 6 5\n1 1 0\n1 5 -7\n3 2 1\n4 3 1\n4 6 1\n"), kMask);
}

TEST(MaskMtx, EntriesComeInAnyOrder) {
  EXPECT_EQ(parse_mtx_mask(kPattern + "4 6 5\n4 6\n1 1\n3 2\n4 3\n1 5\n"), kMask);
}

TEST(MaskMtx, SkipsCommentsAndBlanks) {
  EXPECT_EQ(parse_mtx_mask("%%matrixmarket MATRIX Coordinate pattern General \r\n%\n% 9 9 9\r\n\n"
                           "  4\t6 5  \r\n 1 1\r\n\n1 5\n % between\n3 2\n4 3\n4 6"),
            kMask);
}

TEST(MaskMtx, AcceptsMasksWithoutEntries) {
  EXPECT_EQ(parse_mtx_mask(kPattern + "2 3 0\n"), Mask::random({2, 3}, 1, 1));
  EXPECT_EQ(parse_mtx_mask(kReal + "0 3 0"), Mask::random({0, 3}, 1, 1));
  EXPECT_EQ(parse_mtx_mask(kReal + "3 0 0\n"), Mask::random({3, 0}, 1, 1));
}

TEST(MaskMtx, RejectsOtherKindsOfMatrices) {
  expect_rejected("", {"\"\"", "%%matrixmarket"});
  expect_rejected("4 6 5\n1 1\n", {"\"4\"", "%%matrixmarket"});
  expect_rejected("%%MatrixMarket vector coordinate real general\n", {"\"vector\"", "matrix"});
  expect_rejected("%%MatrixMarket matrix array real general\n", {"\"array\"", "coordinate"});
  expect_rejected("%%MatrixMarket matrix coordinate complex general\n", {"\"complex\"", "real"});
  expect_rejected("%%MatrixMarket matrix coordinate real symmetric\n",
                  {"\"symmetric\"", "general"});
  expect_rejected("%%MatrixMarket matrix coordinate real general x\n", {"\"x\""});
}

TEST(MaskMtx, RejectsWrongSizeLines) {
  expect_rejected(kPattern, {"no size line"});
  expect_rejected(kPattern + "% only\n\n", {"no size line"});
  expect_rejected(kPattern + "4 6\n", {"line 2", "\"\""});
  expect_rejected(kPattern + "4 6 5 1\n", {"line 2", "\"1\"", "sizes"});
  expect_rejected(kPattern + "4 six 5\n", {"line 2", "\"six\""});
  expect_rejected(kPattern + "-4 6 5\n", {"-4"});
}

TEST(MaskMtx, RejectsWrongCounts) {
  expect_rejected(kPattern + "4 6 4\n1 1\n1 5\n3 2\n4 3\n4 6\n", {"5 entries", "4"});
  expect_rejected(kPattern + "4 6 6\n1 1\n1 5\n3 2\n4 3\n4 6\n", {"5 entries", "6"});
  expect_rejected(kPattern + "4 6 -1\n", {"0 entries", "-1"});
}

TEST(MaskMtx, RejectsEntriesOutsideTheMatrix) {
  expect_rejected(kPattern + "4 6 1\n0 1\n", {"line 3", "row 0", "1 to 4"});
  expect_rejected(kPattern + "4 6 1\n5 1\n", {"line 3", "row 5", "1 to 4"});
  expect_rejected(kPattern + "4 6 1\n% c\n4 7\n", {"line 4", "column 7", "1 to 6"});
  expect_rejected(kPattern + "4 6 1\n4 -1\n", {"column -1"});
  expect_rejected(kPattern + "4 0 1\n4 1\n", {"column 1", "1 to 0"});
}

TEST(MaskMtx, RejectsDuplicatesWhereverTheyAre) {
  expect_rejected(kPattern + "4 6 3\n3 2\n1 1\n3 2\n", {"(3, 2)", "twice"});
}

TEST(MaskMtx, RejectsEntriesWithTooFewOrTooManyWords) {
  expect_rejected(kPattern + "4 6 1\n1\n", {"line 3", "\"\""});
  expect_rejected(kPattern + "4 6 1\n1 1 1\n", {"line 3", "\"1\" follows"});
  expect_rejected(kReal + "4 6 1\n1 1\n", {"line 3", "\"\" is not a number"});
  expect_rejected(kReal + "4 6 1\n1 1 +\n", {"\"+\" is not a number"});
  expect_rejected(kReal + "4 6 1\n1 1 1.5x\n", {"\"1.5x\""});
  expect_rejected(kInteger + "4 6 1\n1 1 1.5\n", {"\"1.5\" is not a whole number"});
  expect_rejected(kReal + "4 6 1\n1 1 1 2\n", {"\"2\" follows"});
  expect_rejected(kPattern + std::string("4 6 1\n1 \0\x1b\n", 10), {"\\x00\\x1b"});
}

TEST(MaskMtx, HugeNumbersAreRejectedWithoutAllocating) {
  expect_rejected(kPattern + "2147483647 1 0\n", {"2147483647 rows", "65536"});
  expect_rejected(kPattern + "2147483648 1 0\n", {"2147483648"});
  expect_rejected(kPattern + "1 99999999999999999999 0\n", {"99999999999999999999"});
  expect_rejected(kPattern + "1 1 9223372036854775807\n1 1\n", {"9223372036854775807"});
  const Mask wide = parse_mtx_mask(kPattern + "65536 2147483647 1\n65536 2147483647\n");
  EXPECT_EQ(wide.columns()[0], 2147483646);
}

TEST(MaskMtx, LoadsAFile) {
  const std::string path = ::testing::TempDir() + "sparsejit_mask_mtx_test.mtx";
  std::ofstream(path) << kPattern + kEntries;
  EXPECT_EQ(load_mtx_mask(path), kMask);
  std::remove(path.c_str());
  expect_error([&] { load_mtx_mask(path); }, {path, "No such file"});
}

}  // namespace
}  // namespace sparsejit::test
