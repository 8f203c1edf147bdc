// Masks from arrays: dense 0/1, nonzeros of a weight, CSR. Every malformed array is named.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "sparsejit/mask.h"
#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

std::vector<int32_t> columns_of(const Mask& mask) {
  return {mask.columns().begin(), mask.columns().end()};
}

std::vector<int64_t> row_begin_of(const Mask& mask) {
  return {mask.row_begin().begin(), mask.row_begin().end()};
}

Mask csr(const std::vector<int64_t>& row_begin, const std::vector<int64_t>& columns,
         MaskShape shape) {
  return Mask::from_csr(row_begin, columns, shape);
}

TEST(MaskFromDense, NumbersStoredWeightsInRowMajorOrder) {
  const std::vector<uint8_t> dense = {1, 0, 1, 0, 1, 0};
  const Mask mask = Mask::from_dense(dense, {2, 3});
  EXPECT_EQ(mask.shape(), (MaskShape{2, 3}));
  EXPECT_EQ(row_begin_of(mask), (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(columns_of(mask), (std::vector<int32_t>{0, 2, 1}));
}

TEST(MaskFromDense, NamesTheEntryThatIsNeitherZeroNorOne) {
  const std::vector<uint8_t> dense = {1, 0, 1, 0, 1, 7};
  expect_error([&] { Mask::from_dense(dense, {2, 3}); }, {"(1, 2)", "7"});
}

TEST(MaskFromDense, NamesAWrongLength) {
  const std::vector<uint8_t> dense(5, 1);
  expect_error([&] { Mask::from_dense(dense, {2, 3}); }, {"5", "6", "2x3"});
  expect_error([&] { Mask::from_dense(dense, {2, 2}); }, {"5", "4", "2x2"});
}

TEST(MaskFromDense, AcceptsShapesWithoutEntries) {
  EXPECT_EQ(Mask::from_dense({}, {0, 5}).nnz(), 0);
  EXPECT_EQ(Mask::from_dense({}, {5, 0}).row_begin().size(), 6U);
}

TEST(MaskFromNonzeros, StoresNanAndTinyButNoZeroOfEitherSign) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> weight = {nan, 0.0F, -0.0F, tiny, -1.0F, 0.0F};
  const Mask mask = Mask::from_nonzeros(weight, {2, 3});
  EXPECT_EQ(row_begin_of(mask), (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(columns_of(mask), (std::vector<int32_t>{0, 0, 1}));
}

TEST(MaskFromNonzeros, NamesAWrongLengthAndShape) {
  const std::vector<float> weight(6, 1.0F);
  expect_error([&] { Mask::from_nonzeros(weight, {2, 4}); }, {"6", "8", "2x4"});
  expect_error([&] { Mask::from_nonzeros(weight, {-2, -3}); }, {"-2", "-3"});
}

TEST(MaskFromCsr, KeepsAWellFormedPattern) {
  const Mask mask = csr({0, 2, 2, 3, 5}, {0, 4, 1, 2, 5}, {4, 6});
  EXPECT_EQ(mask.nnz(), 5);
  EXPECT_EQ(row_begin_of(mask), (std::vector<int64_t>{0, 2, 2, 3, 5}));
  EXPECT_EQ(columns_of(mask), (std::vector<int32_t>{0, 4, 1, 2, 5}));
}

TEST(MaskFromCsr, NamesDecreasingOffsets) {
  expect_error([] { csr({0, 3, 2, 3}, {0, 1, 2}, {3, 4}); }, {"offset 2", "2", "3"});
}

// Offsets that leave the columns and come back must not be followed before they are all checked.
TEST(MaskFromCsr, NamesAnOffsetBeyondTheColumns) {
  expect_error([] { csr({0, 1000000000, 3}, {0, 1, 2}, {2, 4}); }, {"1000000000"});
  expect_error([] { csr({0, -1000000000, 3}, {0, 1, 2}, {2, 4}); }, {"-1000000000"});
}

TEST(MaskFromCsr, NamesAFirstOffsetThatIsNotZero) {
  expect_error([] { csr({1, 2, 3}, {0, 1, 2}, {2, 4}); }, {"offset 0", "1"});
  expect_error([] { csr({-1, 2, 3}, {0, 1, 2}, {2, 4}); }, {"-1"});
}

TEST(MaskFromCsr, NamesALastOffsetThatIsNotTheNumberOfColumns) {
  expect_error([] { csr({0, 1, 2}, {0, 1, 2}, {2, 4}); }, {"2", "3"});
  expect_error([] { csr({0, 1, 5}, {0, 1, 2}, {2, 4}); }, {"5", "3"});
}

TEST(MaskFromCsr, NamesAWrongNumberOfOffsets) {
  expect_error([] { csr({0, 3}, {0, 1, 2}, {2, 4}); }, {"2", "3"});
  expect_error([] { csr({0, 1, 2, 3}, {0, 1, 2}, {2, 4}); }, {"4", "3"});
  expect_error([] { csr({}, {}, {0, 4}); }, {"0", "1"});
}

TEST(MaskFromCsr, NamesAColumnOutsideTheShape) {
  expect_error([] { csr({0, 1, 2}, {0, 4}, {2, 4}); }, {"row 1", "4", "3"});
  expect_error([] { csr({0, 1, 2}, {-1, 3}, {2, 4}); }, {"row 0", "-1"});
  expect_error([] { csr({0, 1}, {int64_t{1} << 32}, {1, 4}); }, {"4294967296"});
  expect_error([] { csr({0, 1}, {0}, {1, 0}); }, {"row 0"});
}

TEST(MaskFromCsr, NamesDuplicateAndUnsortedColumns) {
  expect_error([] { csr({0, 1, 3}, {0, 2, 2}, {2, 4}); }, {"row 1", "2"});
  expect_error([] { csr({0, 2, 3}, {3, 1, 2}, {2, 4}); }, {"row 0", "1", "3"});
}

TEST(MaskFromCsr, NamesANegativeSize) {
  expect_error([] { csr({0}, {}, {-1, 4}); }, {"-1"});
  expect_error([] { csr({0, 0}, {}, {1, -4}); }, {"-4"});
  expect_error(
      [] {
        csr({}, {}, {std::numeric_limits<int64_t>::min(), 1});
      },
      {"-9223372036854775808"});
}

TEST(MaskFromCsr, NamesSizesWhoseProductOverflows) {
  expect_error([] { csr({0}, {}, {kMax64, kMax64}); }, {"9223372036854775807"});
  expect_error([] { csr({0}, {}, {int64_t{1} << 33, int64_t{1} << 33}); }, {"8589934592"});
  // 2^64 wraps to 0, which is what an empty array would match.
  expect_error([] { Mask::from_dense({}, {int64_t{1} << 32, int64_t{1} << 32}); }, {"4294967296"});
  expect_error(
      [] {
        Mask::from_nonzeros({}, {int64_t{1} << 32, int64_t{1} << 32});
      },
      {"4294967296"});
}

}  // namespace
}  // namespace sparsejit::test
