// Plans: pure, complete, cut into balanced parts that cover every tap once. Made-up machines only.
#include "sparsejit/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sparsejit/error.h"
#include "support/golden.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

constexpr int64_t kLanes = 8;

// Runs `check(table, plan)` for every mask, pass and length on all made-up machines.
template <typename Check>
void for_all_plans(const Check& check) {
  for (const Mask& mask : assorted_masks()) {
    for (const KernelCase& kernel : assorted_cases()) {
      for (const MachineModel& machine : made_up_machines()) {
        SCOPED_TRACE(fmt::format("{}, {}x{} mask, {}", to_text(kernel), mask.rows(), mask.cols(),
                                 to_text(machine)));
        const TapTable table = kernel.table(mask);
        check(table, plan_kernel(table, kernel.request, machine));
      }
    }
  }
}

int64_t taps_of_part(const TapTable& table, const Plan& plan, int32_t part) {
  return table.row_begin[plan.part_begin[part + 1]] - table.row_begin[plan.part_begin[part]];
}

TEST(Plan, IsAPureFunctionOfItsArguments) {
  const Mask mask = Mask::random({300, 200}, 0.9, 1);
  for (const KernelCase& kernel : assorted_cases()) {
    const TapTable table = kernel.table(mask);
    const Plan first = plan_kernel(table, kernel.request, made_up_machine());
    plan_kernel(table, make_request(KernelKind::accumulate, 16), made_up_machine(1 << 14));
    EXPECT_EQ(plan_kernel(table, kernel.request, made_up_machine()), first) << to_text(kernel);
  }
}

TEST(Plan, PartsCoverEveryRowOnce) {
  for_all_plans([](const TapTable& table, const Plan& plan) {
    ASSERT_GE(plan.parts(), 1);
    EXPECT_EQ(plan.part_begin.front(), 0);
    EXPECT_EQ(plan.part_begin.back(), table.rows());
    EXPECT_TRUE(std::is_sorted(plan.part_begin.begin(), plan.part_begin.end()));
  });
}

TEST(Plan, ChunksAreBlockMajorAndCountEveryTapOnce) {
  for_all_plans([](const TapTable& table, const Plan& plan) {
    ASSERT_EQ(plan.chunks.size(), static_cast<size_t>(plan.parts()) * plan.blocks);
    int64_t taps = 0;
    for (size_t i = 0; i < plan.chunks.size(); ++i) {
      const Chunk& chunk = plan.chunks[i];
      EXPECT_EQ(chunk.block, static_cast<int32_t>(i) / plan.parts());
      EXPECT_EQ(chunk.part, static_cast<int32_t>(i) % plan.parts());
      int64_t expected = 0;
      for (int64_t t = table.row_begin[plan.part_begin[chunk.part]];
           t < table.row_begin[plan.part_begin[chunk.part + 1]]; ++t) {
        expected += table.taps[t].stream / plan.block_streams == chunk.block ? 1 : 0;
      }
      EXPECT_EQ(chunk.taps, expected) << "chunk " << i;
      taps += chunk.taps;
    }
    EXPECT_EQ(taps, table.size());
  });
}

TEST(Plan, BlockRangesOfARowFollowEachOther) {
  for_all_plans([](const TapTable& table, const Plan& plan) {
    for (int64_t row = 0; row < table.rows(); ++row) {
      int64_t at = table.row_begin[row];
      for (int32_t block = 0; block < plan.blocks; ++block) {
        const TapRange range = block_range(table, plan, row, block);
        if (range.begin == range.end) continue;
        EXPECT_EQ(range.begin, at);
        at = range.end;
      }
      EXPECT_EQ(at, table.row_begin[row + 1]);
    }
  });
}

// A part may exceed the mean by less than one row (rows are not split) plus what rows cost beside
// their taps, which the planner counts as well.
TEST(Plan, PartsAreBalancedByTaps) {
  for (const double sparsity : {0.8, 0.95, 0.99}) {
    const TapTable table = lower_linear(Mask::random({3072, 768}, sparsity, 9));
    const Plan plan =
        plan_kernel(table, make_request(KernelKind::accumulate, 904), made_up_machine());
    int64_t longest_row = 0;
    for (int64_t row = 0; row < table.rows(); ++row) {
      longest_row = std::max(longest_row, table.row_begin[row + 1] - table.row_begin[row]);
    }
    ASSERT_GT(plan.parts(), 4);
    const int64_t mean = table.size() / plan.parts();
    for (int32_t part = 0; part < plan.parts(); ++part) {
      EXPECT_LE(taps_of_part(table, plan, part), mean + mean / 4 + longest_row) << sparsity;
    }
  }
}

TEST(Plan, OneDenseRowDoesNotDragOthersIntoItsPart) {
  std::vector<uint8_t> dense(size_t{400} * 4000, 0);
  for (size_t column = 0; column < 4000; ++column) dense[size_t{200} * 4000 + column] = 1;
  for (size_t row = 0; row < 400; ++row) {
    for (size_t column = row % 3; column < 4000; column += 400) dense[row * 4000 + column] = 1;
  }
  const TapTable table = lower_linear(Mask::from_dense(dense, {400, 4000}));
  const Plan plan =
      plan_kernel(table, make_request(KernelKind::accumulate, 904), made_up_machine());
  const auto next = std::upper_bound(plan.part_begin.begin(), plan.part_begin.end(), 200);
  const int64_t rows_beside_it = *next - *(next - 1) - 1;
  EXPECT_LT(rows_beside_it, 60) << "of 400 rows, in the part of the dense row";
}

// Where each engine and kind stops is measured; that it does, and is never resident again, is not.
TEST(Plan, ResidentFamilyTakesShortStreamsOnly) {
  const TapTable table = lower_linear(Mask::random({40, 40}, 0.8, 1));
  for (const KernelKind kind : {KernelKind::accumulate, KernelKind::fused, KernelKind::products}) {
    for (const bool interpreted : {false, true}) {
      bool resident_before = true;
      for (int64_t length = kLanes; length <= (kMaxResidentVectors + 2) * kLanes; ++length) {
        KernelRequest request = make_request(kind, length);
        request.interpreted = interpreted;
        const Plan plan = plan_kernel(table, request, made_up_machine());
        const bool resident = plan.family == KernelFamily::resident;
        EXPECT_TRUE(resident_before || !resident) << length;
        EXPECT_FALSE(resident && length > kMaxResidentVectors * kLanes) << length;
        resident_before = resident;
        if (!resident) continue;
        EXPECT_EQ(plan.vectors, (length + kLanes - 1) / kLanes);
        EXPECT_EQ(plan.panel, length);
        EXPECT_EQ(plan.blocks, 1);
      }
    }
  }
}

// Accumulators of all interleaved rows, a shared source and one value.
TEST(Plan, ResidentAccumulateFitsTheRegisters) {
  for_all_plans([](const TapTable&, const Plan& plan) {
    if (plan.family != KernelFamily::resident || plan.kind != KernelKind::accumulate) return;
    EXPECT_GE(plan.rows_per_group, 1);
    if (plan.rows_per_group == 1) return;
    EXPECT_LE(plan.rows_per_group * plan.vectors + plan.vectors + 1, plan.lanes == 16 ? 32 : 16);
  });
}

// Sums across lanes keep eight, so that all ISAs make the same bits.
TEST(Plan, Avx512ServesUnrolledKernelsThatAccumulate) {
  const TapTable table = lower_linear(Mask::random({40, 40}, 0.8, 1));
  const MachineModel machine = with_avx512(made_up_machine());
  const auto lanes = [&](KernelRequest request) {
    return plan_kernel(table, request, machine).lanes;
  };
  for (const int64_t length : {16, 17, 40, 64}) {
    KernelRequest request = make_request(KernelKind::accumulate, length);
    EXPECT_EQ(lanes(request), 16) << length;
    EXPECT_EQ(lanes(make_tiled_request(length)), 16) << length;
    EXPECT_EQ(lanes(make_request(KernelKind::products, length)), 8) << length;
    request.interpreted = true;
    EXPECT_EQ(lanes(request), 8) << length;
  }
  for (const int64_t length : {8, 15, 65, 902}) {
    EXPECT_EQ(lanes(make_request(KernelKind::accumulate, length)), 8) << length;
  }
}

TEST(Plan, RequestedPitchesAreKeptAndOthersChosen) {
  const TapTable table = lower_linear(Mask::random({40, 40}, 0.8, 1));
  for (const int64_t length : {int64_t{16}, int64_t{904}}) {
    const Plan chosen =
        plan_kernel(table, make_request(KernelKind::fused, length), made_up_machine());
    for (const int64_t pitch :
         {chosen.pitches.gathered, chosen.pitches.own, chosen.pitches.paired}) {
      EXPECT_GE(pitch, std::min(length, chosen.panel));
    }
    KernelRequest request = make_request(KernelKind::fused, length);
    request.pitches = {.gathered = 911, .own = 1003, .paired = -905};
    EXPECT_EQ(plan_kernel(table, request, made_up_machine()).pitches, request.pitches);
  }
}

// A larger cache lets panels or blocks grow, never shrink; a huge one needs no blocks at all.
TEST(Plan, PanelsAndBlocksFollowTheL2Cache) {
  const TapTable table = lower_linear(Mask::random({1000, 4000}, 0.9, 1));
  for (const KernelKind kind : {KernelKind::accumulate, KernelKind::fused, KernelKind::products}) {
    const KernelRequest request = make_request(kind, 4096);
    Plan last = plan_kernel(table, request, made_up_machine(64 << 10));
    EXPECT_GT(last.blocks, 1);
    for (int64_t l2_bytes = 128 << 10; l2_bytes <= 64 << 20; l2_bytes *= 2) {
      const Plan plan = plan_kernel(table, request, made_up_machine(l2_bytes));
      EXPECT_EQ(plan.panel % kLanes, 0);
      EXPECT_GE(plan.panel, last.panel) << l2_bytes;
      EXPECT_GE(plan.panel * plan.block_streams, last.panel * last.block_streams) << l2_bytes;
      EXPECT_GE(plan.blocks * plan.block_streams, table.streams);
      EXPECT_LT((plan.blocks - 1) * plan.block_streams, table.streams) << "an empty block";
      last = plan;
    }
    EXPECT_EQ(last.blocks, 1);
  }
}

TEST(Plan, StreamsShorterThanAVectorAreBrokenInvariants) {
  const TapTable table = lower_linear(Mask::random({4, 4}, 0.5, 1));
  for (const int64_t length : {-8, 0, 1, 7}) {
    EXPECT_THROW(
        plan_kernel(table, make_request(KernelKind::accumulate, length), made_up_machine()),
        InternalError);
  }
}

TEST(Plan, StreamsThatAreNoWholeVectorsHaveATail) {
  const TapTable table = lower_linear(Mask::random({4, 4}, 0.5, 1));
  for (int64_t length = 8; length < 100; ++length) {
    const Plan plan =
        plan_kernel(table, make_request(KernelKind::fused, length), made_up_machine());
    EXPECT_EQ(plan.tail, length % kLanes != 0) << length;
  }
}

// What the cache keys on: requests that become equal must be served by equal plans.
TEST(Plan, CanonicalRequestsMeanTheSamePlan) {
  for (const Mask& mask : assorted_masks()) {
    for (KernelCase kernel : assorted_cases()) {
      const TapTable table = kernel.table(mask);
      for (int64_t length = kernel.request.tiled ? 16 : 8; length < 2200; length += 93) {
        if (kernel.request.table && length > 64) break;
        kernel.request.length = length;
        kernel.request.pitches = {.gathered = 3001, .own = 3003, .paired = 3005};
        for (const MachineModel& machine : made_up_machines()) {
          const KernelRequest canonical = canonical_request(kernel.request, machine);
          EXPECT_EQ(plan_kernel(table, canonical, machine),
                    plan_kernel(table, kernel.request, machine))
              << to_text(kernel);
          EXPECT_EQ(canonical_request(canonical, machine), canonical);
        }
      }
    }
  }
}

TEST(StreamPitch, IsWholeCacheLinesAndAvoidsAliasing) {
  for (int64_t length = 1; length < 5000; ++length) {
    const int64_t pitch = stream_pitch(length);
    ASSERT_GE(pitch, length);
    ASSERT_LT(pitch, length + 32) << length;
    ASSERT_EQ(pitch % 16, 0) << length;
    ASSERT_NE(pitch % 256, 0) << length;
  }
  EXPECT_EQ(stream_pitch(902), 912);
  EXPECT_EQ(stream_pitch(1024), 1040);
}

TEST(PlanText, SaysEveryDecision) {
  const Mask mask = Mask::random({200, 96}, 0.9, 4);
  std::string text;
  for (const KernelCase& kernel : assorted_cases()) {
    const TapTable table = kernel.table(mask);
    text += fmt::format("# {}\n{}", to_text(kernel),
                        to_text(plan_kernel(table, kernel.request, made_up_machine())));
  }
  expect_golden("plan.txt", text);
}

}  // namespace
}  // namespace sparsejit::test
