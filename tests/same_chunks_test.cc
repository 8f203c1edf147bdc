// Which chunks keep their code when a mask changes: those that same_chunks names, and really the
// same bytes; parts stay where they were while they are balanced.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sparsejit/emit.h"
#include "support/mask_edits.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

struct Compiled {
  TapTable table;
  Plan plan;
  KernelCode code;

  std::vector<uint8_t> chunk(size_t i) const {
    return {code.bytes.begin() + code.chunk_begin[i], code.bytes.begin() + code.chunk_begin[i + 1]};
  }
};

Compiled compile(TapTable table, const KernelRequest& request, const Plan* previous = nullptr) {
  Compiled result{std::move(table), {}, {}};
  result.plan = plan_kernel(result.table, request, made_up_machine(), previous);
  result.code = std::move(*emit_kernel(result.table, result.plan).code);
  return result;
}

std::vector<KernelRequest> requests() {
  std::vector<KernelRequest> result;
  for (const KernelKind kind : {KernelKind::accumulate, KernelKind::products}) {
    for (const int64_t length : {16, 100, 4000}) result.push_back(make_request(kind, length));
    result.push_back(make_table_request(kind, 24));
  }
  return result;
}

const Mask kMask = Mask::random({200, 300}, 0.7, 1);

TEST(SameChunks, OneRowChangedIsOneChunkChanged) {
  const Mask changed = without_one(kMask, 90);
  for (const KernelRequest& request : requests()) {
    const Compiled before = compile(lower_linear(kMask), request);
    const Compiled now = compile(lower_linear(changed), request, &before.plan);
    const std::vector<bool> same = same_chunks({before.table, before.plan}, {now.table, now.plan});
    ASSERT_GT(same.size(), 4U);
    for (size_t i = 0; i < same.size(); ++i) {
      const int32_t part = now.plan.chunks[i].part;
      const bool has_row = now.plan.part_begin[part] <= 90 && 90 < now.plan.part_begin[part + 1];
      EXPECT_TRUE(same[i] || has_row) << "chunk " << i;
      EXPECT_EQ(same[i], before.chunk(i) == now.chunk(i)) << "chunk " << i;
    }
    EXPECT_NE(std::count(same.begin(), same.end(), false), 0);
  }
}

// By source, value indices of all rows behind the change move.
TEST(SameChunks, WhatIsSaidToBeTheSameIsTheSameOnTheOtherSideToo) {
  const KernelRequest request = make_request(KernelKind::fused, 100);
  for (const int64_t row : {0, 90, 199}) {
    const Compiled before = compile(transpose(lower_linear(kMask)), request);
    const Compiled now =
        compile(transpose(lower_linear(without_one(kMask, row))), request, &before.plan);
    const std::vector<bool> same = same_chunks({before.table, before.plan}, {now.table, now.plan});
    for (size_t i = 0; i < same.size(); ++i) {
      EXPECT_EQ(same[i], before.chunk(i) == now.chunk(i)) << "chunk " << i;
    }
  }
}

// One load fetches values of several taps, also of other blocks: a chunk is only named where all of
// its rows are as they were.
TEST(SameChunks, TiledChunksThatAreSaidToBeTheSameAre) {
  const KernelRequest request = make_tiled_request(902);
  for (const int64_t row : {0, 90, 199}) {
    const Compiled before = compile(lower_linear(kMask), request);
    const Compiled now = compile(lower_linear(without_one(kMask, row)), request, &before.plan);
    ASSERT_GT(now.plan.blocks, 1);
    const std::vector<bool> same = same_chunks({before.table, before.plan}, {now.table, now.plan});
    EXPECT_GT(std::count(same.begin(), same.end(), true), std::ssize(same) / 2);
    for (size_t i = 0; i < same.size(); ++i) {
      if (same[i]) {
        EXPECT_EQ(before.chunk(i), now.chunk(i)) << "chunk " << i;
      }
    }
  }
}

// The last row has two weights in each of two blocks, and loses those of the second: the load that
// fetched all four for the first block would now read beyond the values.
TEST(SameChunks, TiledChunksLookAtTheWeightsThatTheirLoadsReach) {
  std::vector<uint8_t> dense(size_t{4} * 200, 0);
  for (const size_t column : {0, 1, 150, 151}) dense[size_t{3} * 200 + column] = 1;
  const KernelRequest request = make_tiled_request(64);
  const Compiled before = compile(lower_linear(Mask::from_dense(dense, {4, 200})), request);
  for (const size_t column : {150, 151}) dense[size_t{3} * 200 + column] = 0;
  const Compiled now =
      compile(lower_linear(Mask::from_dense(dense, {4, 200})), request, &before.plan);
  ASSERT_EQ(now.plan.blocks, 2);
  ASSERT_EQ(now.plan.part_begin, before.plan.part_begin);
  EXPECT_NE(before.chunk(0), now.chunk(0));
  EXPECT_FALSE(same_chunks({before.table, before.plan}, {now.table, now.plan})[0]);
}

TEST(SameChunks, OtherGeometryIsNothingInCommon) {
  const Compiled a = compile(lower_linear(kMask), make_request(KernelKind::accumulate, 104));
  const Compiled b = compile(lower_linear(kMask), make_request(KernelKind::accumulate, 100));
  const std::vector<bool> same = same_chunks({a.table, a.plan}, {b.table, b.plan});
  EXPECT_EQ(std::count(same.begin(), same.end(), true), 0) << "one has a tail";
}

TEST(SameChunks, PartsAreCutAnewWhenTheyLostTheirBalance) {
  std::vector<uint8_t> dense(size_t{200} * 300, 0);
  std::fill(dense.begin(), dense.begin() + 20 * 300, 1);  // all in the first rows
  const Mask lopsided = Mask::from_dense(dense, {200, 300});
  const KernelRequest request = make_request(KernelKind::accumulate, 100);
  const Plan before = plan_kernel(lower_linear(kMask), request, made_up_machine());
  EXPECT_EQ(plan_kernel(lower_linear(lopsided), request, made_up_machine(), &before),
            plan_kernel(lower_linear(lopsided), request, made_up_machine()));
}

TEST(SameChunks, EmittingSomeChunksGivesTheSameBytesForThem) {
  for (const KernelRequest& request : requests()) {
    const Compiled all = compile(lower_linear(kMask), request);
    std::vector<bool> only(all.plan.chunks.size(), false);
    for (size_t i = 0; i < only.size(); ++i) only[i] = i % 3 == 1;
    const EmitResult some = emit_kernel(all.table, all.plan, {.only = &only});
    ASSERT_TRUE(some.code.has_value());
    const Compiled part{all.table, all.plan, *some.code};
    for (size_t i = 0; i < only.size(); ++i) {
      if (only[i]) {
        EXPECT_EQ(part.chunk(i), all.chunk(i));
      } else {
        EXPECT_TRUE(part.chunk(i).empty());
      }
    }
  }
}

}  // namespace
}  // namespace sparsejit::test
