// Mask as a value: hash, equality, random masks. The constructors from arrays and text have files
// of their own, mask_arrays_test.cc and mask_smtx_test.cc.
#include "sparsejit/mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "support/expect_error.h"
#include "support/golden.h"

namespace sparsejit::test {
namespace {

TEST(Mask, DefaultIsTheEmptyMask) {
  const Mask mask;
  EXPECT_EQ(mask.rows(), 0);
  EXPECT_EQ(mask.cols(), 0);
  EXPECT_EQ(mask.nnz(), 0);
  EXPECT_EQ(mask.sparsity(), 0.0);
  ASSERT_EQ(mask.row_begin().size(), 1U);
  EXPECT_EQ(mask.row_begin()[0], 0);
}

TEST(Mask, SameContentIsEqualWhateverTheConstructor) {
  const std::vector<uint8_t> dense = {1, 0, 1, 0, 1, 0};
  const std::vector<float> weight = {0.5F, 0.0F, -2.0F, 0.0F, 1.0F, 0.0F};
  const std::vector<int64_t> row_begin = {0, 2, 3};
  const std::vector<int64_t> columns = {0, 2, 1};
  const Mask a = Mask::from_dense(dense, {2, 3});
  for (const Mask& b :
       {Mask::from_nonzeros(weight, {2, 3}), Mask::from_csr(row_begin, columns, {2, 3}),
        Mask::from_smtx("2, 3, 3\n0 2 3\n0 2 1\n")}) {
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.hash(), b.hash());
  }
}

TEST(Mask, SameBitsInAnotherShapeAreAnotherMask) {
  const std::vector<uint8_t> bits = {1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1,
                                     0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1};
  const Mask wide = Mask::from_dense(bits, {4, 8});
  const Mask tall = Mask::from_dense(bits, {8, 4});
  EXPECT_FALSE(wide == tall);
  EXPECT_FALSE(wide.hash() == tall.hash());
}

TEST(Mask, EmptyMasksOfDifferentShapesDiffer) {
  const Mask a = Mask::random({4, 8}, 1.0, 1);
  const Mask b = Mask::random({4, 9}, 1.0, 1);
  const Mask c = Mask::random({5, 8}, 1.0, 1);
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(a.hash() == b.hash());
  EXPECT_FALSE(a == c);
  EXPECT_FALSE(a.hash() == c.hash());
}

TEST(Mask, EverySingleBitChangesTheHash) {
  std::set<std::pair<uint64_t, uint64_t>> hashes;
  for (size_t bit = 0; bit < 64; ++bit) {
    std::vector<uint8_t> dense(64, 0);
    dense[bit] = 1;
    const Mask mask = Mask::from_dense(dense, {8, 8});
    hashes.insert({mask.hash().low, mask.hash().high});
  }
  EXPECT_EQ(hashes.size(), 64U);
}

// The hash names kernels in profiles and dumps: it must not change from run to run.
TEST(Mask, HashAndRandomPatternStayWhatTheyWere) {
  const Mask mask = Mask::random({6, 40}, 0.8, 2023);
  expect_golden("mask_random.txt", mask.to_smtx() + short_name(mask.hash()) + "\n");
}

TEST(Mask, ShortNameIsSixteenHexadecimalDigits) {
  EXPECT_EQ(short_name({0x1F, 7}), "000000000000001f");
  EXPECT_EQ(short_name({0xFEDCBA9876543210, 0}), "fedcba9876543210");
}

TEST(MaskRandom, StoresExactlyTheRoundedCount) {
  for (const MaskShape shape : {MaskShape{1, 1}, {7, 13}, {64, 576}, {1, 1000}, {1000, 1}}) {
    for (const double sparsity : {0.0, 0.05, 0.5, 0.8, 0.95, 0.99, 0.999, 1.0}) {
      const auto total = static_cast<double>(shape.rows() * shape.cols());
      EXPECT_EQ(Mask::random(shape, sparsity, 5).nnz(), std::llround((1.0 - sparsity) * total))
          << shape.rows() << "x" << shape.cols() << " at " << sparsity;
    }
  }
}

TEST(MaskRandom, IsDeterminedByTheSeed) {
  EXPECT_EQ(Mask::random({30, 50}, 0.9, 1), Mask::random({30, 50}, 0.9, 1));
  EXPECT_FALSE(Mask::random({30, 50}, 0.9, 1) == Mask::random({30, 50}, 0.9, 2));
}

// 64 rows of 1000 with 6400 stored: a row holds 100 on average, standard deviation 9.5 (sampling
// without replacement). Six of those are never left by chance.
TEST(MaskRandom, SpreadsOverRowsAndColumns) {
  const Mask mask = Mask::random({64, 1000}, 0.9, 77);
  std::vector<int64_t> in_half(2, 0);
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const int64_t taps = mask.row_begin()[row + 1] - mask.row_begin()[row];
    EXPECT_GT(taps, 43) << row;
    EXPECT_LT(taps, 157) << row;
  }
  for (const int32_t column : mask.columns()) ++in_half[column / 500];
  EXPECT_NEAR(in_half[0], in_half[1], 6 * 76);  // standard deviation of the difference: 76
}

TEST(MaskRandom, NamesASparsityOutsideZeroToOne) {
  expect_error([] { Mask::random({4, 4}, 1.5, 1); }, {"1.5"});
  expect_error([] { Mask::random({4, 4}, -0.25, 1); }, {"-0.25"});
  expect_error([] { Mask::random({4, 4}, std::numeric_limits<double>::quiet_NaN(), 1); }, {"nan"});
}

TEST(MaskRandom, NamesANegativeOrHugeShape) {
  expect_error([] { Mask::random({-3, 4}, 0.5, 1); }, {"-3"});
  expect_error([] { Mask::random({4, int64_t{1} << 40}, 0.5, 1); }, {"1099511627776"});
}

TEST(Mask, SparsityIsTheShareNotStored) {
  EXPECT_DOUBLE_EQ(Mask::from_smtx("2, 4, 2\n0 1 2\n0 3\n").sparsity(), 0.75);
  EXPECT_DOUBLE_EQ(Mask::random({10, 10}, 1.0, 1).sparsity(), 1.0);
}

}  // namespace
}  // namespace sparsejit::test
