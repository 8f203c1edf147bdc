// The paper's sparse tensor format: its own example both ways, and every way input can be wrong.
#include "sparsejit/sparseprop_format.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/expect_error.h"

namespace sparsejit::test {
namespace {

constexpr MaskShape kShape{3, 2, 2, 3};
constexpr float kA = 1, kB = 2, kC = 3, kD = 4, kE = 5, kF = 6;

SparsePropTensor paper_tensor() {
  return {.och = {0, 1, 3, 6},
          .ich = {0, 1, 1, 0, 0, 2, 0, 2, 3},
          .x = {0, 0, 1, 1, 1, 0},
          .y = {1, 1, 1, 0, 2, 2},
          .vals = {kA, kD, kE, kB, kC, kF}};
}

// clang-format off
const std::vector<float> kPaperWeight = {
    0, kA, 0,   0, 0, 0,      0, 0, 0,    0, 0, 0,
    0, 0, 0,    0, 0, 0,      0, kD, 0,   0, kE, 0,
    0, 0, 0,    kB, 0, kC,    0, 0, kF,   0, 0, 0};
// clang-format on

std::vector<float> stored_of(const std::vector<float>& weight) {
  std::vector<float> stored;
  for (const float value : weight) {
    if (value != 0) stored.push_back(value);
  }
  return stored;
}

template <typename Change>
void expect_rejected(Change change, std::initializer_list<std::string> fragments) {
  SparsePropTensor tensor = paper_tensor();
  change(tensor);
  expect_error([&] { import_sparseprop(tensor, kShape); }, fragments);
}

TEST(SparsePropFormat, ImportsThePapersExample) {
  const MaskAndValues imported = import_sparseprop(paper_tensor(), kShape);
  EXPECT_EQ(imported.mask, Mask::from_nonzeros(kPaperWeight, kShape));
  EXPECT_EQ(imported.values, stored_of(kPaperWeight));
}

TEST(SparsePropFormat, ExportsThePapersExample) {
  const Mask mask = Mask::from_nonzeros(kPaperWeight, kShape);
  EXPECT_EQ(export_sparseprop(mask, stored_of(kPaperWeight)), paper_tensor());
}

TEST(SparsePropFormat, EntriesOfAFilterMayComeInAnyOrder) {
  SparsePropTensor tensor = paper_tensor();
  std::swap(tensor.x[1], tensor.x[2]);  // d and e
  std::swap(tensor.y[1], tensor.y[2]);
  std::swap(tensor.vals[1], tensor.vals[2]);
  std::swap(tensor.y[3], tensor.y[4]);  // b and c
  std::swap(tensor.vals[3], tensor.vals[4]);
  const MaskAndValues imported = import_sparseprop(tensor, kShape);
  EXPECT_EQ(imported.mask, Mask::from_nonzeros(kPaperWeight, kShape));
  EXPECT_EQ(imported.values, stored_of(kPaperWeight));
}

TEST(SparsePropFormat, StoredZeroStaysStored) {
  SparsePropTensor tensor = paper_tensor();
  tensor.vals[2] = 0;
  EXPECT_EQ(import_sparseprop(tensor, kShape).mask, Mask::from_nonzeros(kPaperWeight, kShape));
}

TEST(SparsePropFormat, RoundTripKeepsMaskAndValues) {
  for (const MaskShape shape : {MaskShape{5, 7, 3, 3}, {4, 3}, {1, 1, 2, 5}, {0, 4}, {4, 0}}) {
    for (const double sparsity : {0.0, 0.7, 1.0}) {
      const Mask mask = Mask::random(shape, sparsity, 3);
      std::vector<float> values(static_cast<size_t>(mask.nnz()));
      std::iota(values.begin(), values.end(), 1.0F);
      const MaskAndValues again = import_sparseprop(export_sparseprop(mask, values), shape);
      EXPECT_EQ(again.mask, mask);
      EXPECT_EQ(again.values, values);
    }
  }
}

TEST(SparsePropFormat, OutputChannelMayStoreMoreWeightsThan16BitsCount) {
  const Mask mask = Mask::random({2, 4096, 3, 3}, 0.0, 1);
  std::vector<float> values(static_cast<size_t>(mask.nnz()));
  std::iota(values.begin(), values.end(), 1.0F);
  const SparsePropTensor tensor = export_sparseprop(mask, values);
  EXPECT_EQ(tensor.och, (std::vector<int64_t>{0, 36864, 73728}));
  EXPECT_EQ(tensor.ich[4096], 36864);
  const MaskAndValues imported = import_sparseprop(tensor, mask.shape());
  EXPECT_EQ(imported.mask, mask);
  EXPECT_EQ(imported.values, values);
}

TEST(SparsePropFormat, RejectsWrongLengths) {
  expect_rejected([](auto& t) { t.och.pop_back(); }, {"och", "3", "4"});
  expect_rejected([](auto& t) { t.och.clear(); }, {"och", "0", "4"});
  expect_rejected([](auto& t) { t.ich.push_back(3); }, {"ich", "10", "9"});
  expect_rejected([](auto& t) { t.x.pop_back(); }, {"x has 5", "6"});
  expect_rejected([](auto& t) { t.y.push_back(0); }, {"y has 7", "6"});
  expect_rejected([](auto& t) { t.vals.clear(); }, {"x has 6", "0"});
  expect_error([] { export_sparseprop(Mask::random(kShape, 0.0, 1), {}); }, {"values", "0", "36"});
}

TEST(SparsePropFormat, RejectsOffsetsThatDecreaseOrEndElsewhere) {
  expect_rejected([](auto& t) { t.och[0] = 1; }, {"och[0] is 1", "0"});
  expect_rejected([](auto& t) { t.och[2] = 0; }, {"och[2] is 0", "1"});
  expect_rejected([](auto& t) { t.och[1] = -1; }, {"och[1] is -1"});
  expect_rejected([](auto& t) { t.och[3] = 7; }, {"och[3] is 7", "6", "vals"});
  expect_rejected([](auto& t) { t.ich[3] = 1; }, {"ich[3] is 1", "0"});
  expect_rejected([](auto& t) { t.ich[1] = -1; }, {"ich[1] is -1"});
  expect_rejected([](auto& t) { t.ich[7] = 4; }, {"ich[8] is 3", "4"});
  expect_rejected([](auto& t) { t.ich[5] = 1; }, {"ich[5] is 1", "2"});
}

TEST(SparsePropFormat, RejectsCoordinatesOutsideTheFilter) {
  expect_rejected([](auto& t) { t.x[4] = 2; }, {"x[4] is 2", "0 to 1"});
  expect_rejected([](auto& t) { t.x[0] = -1; }, {"x[0] is -1", "0 to 1"});
  expect_rejected([](auto& t) { t.y[5] = 3; }, {"y[5] is 3", "0 to 2"});
  expect_rejected([](auto& t) { t.y[5] = -3; }, {"y[5] is -3", "0 to 2"});
}

TEST(SparsePropFormat, RejectsWeightsStoredTwice) {
  expect_rejected([](auto& t) { t.y[4] = 0; }, {"entries 3 and 4", "(1, 0)"});
}

TEST(SparsePropFormat, RejectsShapesThatCannotBe) {
  expect_error([] { import_sparseprop(paper_tensor(), {-3, 2, 2, 3}); }, {"-3"});
}

}  // namespace
}  // namespace sparsejit::test
