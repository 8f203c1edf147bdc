// Golden listings: the code of each kernel family for masks small enough to read.
// The mask of all of them is    [ 1 0 1 0 0 ]
//                               [ 0 0 0 0 0 ]
//                               [ 1 1 0 0 1 ]
#include <gtest/gtest.h>

#include "sparsejit/emit.h"
#include "support/golden.h"
#include "support/listing.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

// Blocks pay only for more taps than anyone wants to read, so a plan with one part is cut by hand.
void cut_into_blocks(const TapTable& table, Plan& plan, int64_t block_streams) {
  plan.block_streams = block_streams;
  plan.blocks = static_cast<int32_t>((table.streams + block_streams - 1) / block_streams);
  plan.chunks.clear();
  for (int32_t block = 0; block < plan.blocks; ++block) {
    Chunk chunk{.part = 0, .block = block};
    for (int64_t row = 0; row < table.rows(); ++row) {
      const TapRange range = block_range(table, plan, row, block);
      chunk.taps += range.end - range.begin;
    }
    plan.chunks.push_back(chunk);
  }
}

// block_streams 0: as planned.
void expect_golden_code(const std::string& name, const KernelCase& kernel,
                        int64_t block_streams = 0,
                        const MachineModel& machine = made_up_machine()) {
  const Mask mask = Mask::from_smtx("3, 5, 5\n0 2 2 5\n0 2 0 1 4\n");
  const TapTable table = kernel.table(mask);
  Plan plan = plan_kernel(table, kernel.request, machine);
  ASSERT_EQ(plan.parts(), 1);
  if (block_streams != 0) cut_into_blocks(table, plan, block_streams);
  const bool table_sums = plan.family == KernelFamily::table && plan.kind == KernelKind::accumulate;
  if (table_sums) plan.taps_per_group = 2;  // a short body
  const EmitResult result = emit_kernel(table, plan, {.notes = true});
  ASSERT_TRUE(result.code.has_value()) << result.reason;
  expect_golden(name, to_text(plan) + listing(*result.code));
}

KernelCase accumulate(int64_t length) {
  return {Pass::forward, make_request(KernelKind::accumulate, length)};
}
KernelCase fused(int64_t length) {
  return {Pass::backward, make_request(KernelKind::fused, length)};
}
KernelCase products(int64_t length) {
  return {Pass::forward, make_request(KernelKind::products, length)};
}

TEST(EmitGolden, StreamAccumulate) {
  expect_golden_code("emit_stream_accumulate.txt", accumulate(904));
}

TEST(EmitGolden, StreamAccumulateWithATail) {
  expect_golden_code("emit_stream_accumulate_tail.txt", accumulate(902));
}

TEST(EmitGolden, StreamAccumulateInBlocks) {
  expect_golden_code("emit_stream_accumulate_blocks.txt", accumulate(904), 2);
}

TEST(EmitGolden, StreamFused) { expect_golden_code("emit_stream_fused.txt", fused(904)); }

TEST(EmitGolden, StreamFusedWithATail) {
  expect_golden_code("emit_stream_fused_tail.txt", fused(902));
}

TEST(EmitGolden, StreamFusedInBlocks) {
  expect_golden_code("emit_stream_fused_blocks.txt", fused(904), 2);
}

TEST(EmitGolden, StreamFusedInPanels) {
  expect_golden_code("emit_stream_fused_panels.txt", fused(4096));
}

TEST(EmitGolden, StreamProducts) { expect_golden_code("emit_stream_products.txt", products(904)); }

TEST(EmitGolden, ResidentAccumulate) {
  expect_golden_code("emit_resident_accumulate.txt", accumulate(16));
}

TEST(EmitGolden, ResidentAccumulateOfThreeVectors) {
  expect_golden_code("emit_resident_accumulate_wide.txt", accumulate(24));
}

TEST(EmitGolden, ResidentAccumulateWithAvx512) {
  const MachineModel machine = with_avx512(made_up_machine());
  expect_golden_code("emit_resident_accumulate_avx512.txt", accumulate(16), 0, machine);
  expect_golden_code("emit_resident_accumulate_avx512_wide.txt", accumulate(40), 0, machine);
}

TEST(EmitGolden, ResidentProducts) {
  expect_golden_code("emit_resident_products.txt", products(16));
}

TEST(EmitGolden, ResidentProductsWithATail) {
  expect_golden_code("emit_resident_products_tail.txt", products(13));
}

TEST(EmitGolden, TableAccumulate) {
  KernelCase kernel{Pass::forward, make_table_request(KernelKind::accumulate, 16)};
  kernel.request.relu = true;
  expect_golden_code("emit_table_accumulate.txt", kernel);
}

TEST(EmitGolden, TableAccumulateInBlocks) {
  expect_golden_code("emit_table_accumulate_blocks.txt",
                     {Pass::backward, make_table_request(KernelKind::accumulate, 56)}, 2);
}

TEST(EmitGolden, TableFusedWithATail) {
  expect_golden_code("emit_table_fused_tail.txt",
                     {Pass::backward, make_table_request(KernelKind::fused, 13)});
}

TEST(EmitGolden, TableProducts) {
  expect_golden_code("emit_table_products.txt",
                     {Pass::forward, make_table_request(KernelKind::products, 16)});
}

}  // namespace
}  // namespace sparsejit::test
