// Taps: lowering, transposition, the verifier and the text form.
#include "sparsejit/taps.h"

#include <gtest/gtest.h>

#include <vector>

#include "sparsejit/error.h"
#include "support/golden.h"

namespace sparsejit::test {
namespace {

Mask small_mask() { return Mask::from_smtx("4, 6, 5\n0 2 2 3 5\n0 4 1 2 5\n"); }

std::vector<Mask> assorted_masks() {
  std::vector<Mask> masks = {Mask(), small_mask()};
  for (const MaskShape shape : {MaskShape{1, 1}, {1, 40}, {40, 1}, {13, 29}, {0, 3}, {3, 0}}) {
    for (const double sparsity : {0.0, 0.8, 1.0}) masks.push_back(Mask::random(shape, sparsity, 3));
  }
  return masks;
}

// A table with shifts, as convolutions make them: two rows, streams 0..2.
TapTable shifted_table() {
  return {.streams = 3,
          .row_begin = {0, 3, 5},
          .taps = {{.stream = 0, .shift = -4, .value = 0},
                   {.stream = 0, .shift = 3, .value = 1},
                   {.stream = 2, .shift = 0, .value = 2},
                   {.stream = 0, .shift = 1, .value = 4},
                   {.stream = 1, .shift = -1, .value = 3}}};
}

TEST(Taps, LinearLoweringFollowsTheMask) {
  expect_golden("taps_linear.txt", to_text(lower_linear(small_mask())));
}

TEST(Taps, TransposeGroupsByTheGatheredStream) {
  expect_golden("taps_linear_transposed.txt", to_text(transpose(lower_linear(small_mask()))));
}

TEST(Taps, TextShowsShiftsWithTheirSign) {
  expect_golden("taps_shifted.txt",
                to_text(shifted_table()) + "transposed\n" + to_text(transpose(shifted_table())));
}

TEST(Taps, TextIsCutToTheRowsAskedFor) {
  const TapTable table = lower_linear(small_mask());
  EXPECT_EQ(to_text(table, 2, 1), "row 2: v2*s1\n");
  EXPECT_EQ(to_text(table, 1, 0), "");
  EXPECT_EQ(to_text(table, 3), "row 3: v3*s2 v4*s5\n");
}

TEST(Taps, TransposingTwiceIsTheIdentity) {
  for (const Mask& mask : assorted_masks()) {
    const TapTable table = lower_linear(mask);
    EXPECT_EQ(transpose(transpose(table)), table) << mask.rows() << "x" << mask.cols();
  }
  EXPECT_EQ(transpose(transpose(shifted_table())), shifted_table());
}

TEST(Taps, LoweredAndTransposedTablesPassTheVerifier) {
  for (const Mask& mask : assorted_masks()) {
    const TapTable table = lower_linear(mask);
    EXPECT_EQ(table.rows(), mask.rows());
    EXPECT_EQ(table.streams, mask.cols());
    EXPECT_EQ(table.size(), mask.nnz());
    EXPECT_NO_THROW(verify_taps(table));
    EXPECT_NO_THROW(verify_taps(transpose(table)));
  }
  EXPECT_NO_THROW(verify_taps(shifted_table()));
  EXPECT_NO_THROW(verify_taps(transpose(shifted_table())));
}

struct Corruption {
  const char* name;
  void (*apply)(TapTable&);
};

const std::vector<Corruption> kCorruptions = {
    Corruption{"NoOffsets", [](TapTable& t) { t.row_begin.clear(); }},
    Corruption{"FirstOffset", [](TapTable& t) { t.row_begin[0] = 1; }},
    Corruption{"LastOffset", [](TapTable& t) { t.row_begin[2] = 4; }},
    Corruption{"LastOffsetBeyondTheEnd", [](TapTable& t) { t.row_begin[2] = 6; }},
    Corruption{"DecreasingOffsets",
               [](TapTable& t) {
                 t.row_begin = {0, 4, 3, 5};
               }},
    Corruption{"OffsetBeyondTheEnd", [](TapTable& t) { t.row_begin[1] = 1000000000; }},
    Corruption{"NegativeOffset", [](TapTable& t) { t.row_begin[1] = -1; }},
    Corruption{"StreamTooLarge", [](TapTable& t) { t.taps[2].stream = 3; }},
    Corruption{"NegativeStream", [](TapTable& t) { t.taps[0].stream = -1; }},
    Corruption{"ValueTooLarge", [](TapTable& t) { t.taps[4].value = 5; }},
    Corruption{"NegativeValue", [](TapTable& t) { t.taps[4].value = -1; }},
    Corruption{"ValueTwice", [](TapTable& t) { t.taps[4].value = 2; }},
    Corruption{"ValueTwiceInAnotherRow", [](TapTable& t) { t.taps[0].value = 4; }},
    Corruption{"StreamsOutOfOrder", [](TapTable& t) { std::swap(t.taps[1], t.taps[2]); }},
    Corruption{"ShiftsOutOfOrder", [](TapTable& t) { std::swap(t.taps[0], t.taps[1]); }}};

TEST(TapsVerifier, CatchesEveryCorruption) {
  for (const Corruption& corruption : kCorruptions) {
    SCOPED_TRACE(corruption.name);
    TapTable table = shifted_table();
    corruption.apply(table);
    EXPECT_THROW(verify_taps(table), InternalError);
  }
}

// Everything else about this table is well formed, so only the offset itself can give it away.
TEST(TapsVerifier, DoesNotFollowAnOffsetBeyondTheTaps) {
  const TapTable table = {.streams = 2,
                          .row_begin = {0, 1000000, 2},
                          .taps = {{.stream = 0, .value = 0}, {.stream = 1, .value = 1}}};
  EXPECT_THROW(verify_taps(table), InternalError);
}

}  // namespace
}  // namespace sparsejit::test
