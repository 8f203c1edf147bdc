// Kernels of the table family: what their tables say, and that they compute what the reference does
// where rows are long, alike, alone or cut into blocks (assorted ones: emit_run_test.cc).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "inspect/disassembly.h"
#include "sparsejit/emit.h"
#include "sparsejit/error.h"
#include "support/expect_error.h"
#include "support/kernel_run.h"

namespace sparsejit::test {
namespace {

constexpr int64_t kFloatBytes = 4;

std::vector<KernelCase> table_cases() {
  std::vector<KernelCase> cases = assorted_cases();
  std::erase_if(cases, [](const KernelCase& kernel) { return !kernel.request.table; });
  return cases;
}

// Blocks of few streams, as soon as rows have taps enough for them, and fused kernels prefetch.
MachineModel small_machine() {
  MachineModel machine = made_up_machine(4 << 10);
  machine.l1_bytes = 1 << 10;
  return machine;
}

Mask with_row_lengths(const std::vector<int64_t>& lengths, int64_t columns) {
  std::vector<uint8_t> dense;
  for (const int64_t length : lengths) {
    for (int64_t c = 0; c < columns; ++c) dense.push_back(c < length ? 1 : 0);
  }
  return Mask::from_dense(dense, {static_cast<int64_t>(lengths.size()), columns});
}

std::vector<int64_t> shuffled(int64_t count, int64_t factor) {
  std::vector<int64_t> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) result[static_cast<size_t>(i)] = i * factor % count;
  return result;
}

class TableKernel : public ::testing::TestWithParam<Edge> {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }

  static void run_all(const Mask& mask, const MachineModel& machine, int32_t least_blocks = 1) {
    for (const KernelCase& kernel : table_cases()) {
      SCOPED_TRACE(fmt::format("{}, {}x{} mask", to_text(kernel), mask.rows(), mask.cols()));
      const Plan plan = expect_matches_reference({mask, kernel, GetParam(), machine});
      EXPECT_EQ(plan.family, KernelFamily::table);
      EXPECT_GE(plan.blocks, least_blocks);
    }
  }
};

// Entries of the body, whole bodies, and pairs of rows of which one is longer, by any number.
TEST_P(TableKernel, RowsOfEveryLength) {
  const Mask rows = with_row_lengths(shuffled(71, 29), 70);
  run_all(rows, made_up_machine());
  run_all(Mask::from_dense(std::vector<uint8_t>(size_t{9} * 70, 1), {9, 70}), made_up_machine());
}

TEST_P(TableKernel, OneLongRowAmongShortAndEmptyOnes) {
  run_all(with_row_lengths({0, 1, 300, 0, 2, 1, 0}, 300), made_up_machine());
  run_all(with_row_lengths({0, 0, 33}, 40), made_up_machine());
}

TEST_P(TableKernel, SumsGoOnInTheNextBlock) {
  run_all(Mask::random({110, 120}, 0.3, 1), small_machine(), 2);
  // Most rows have taps in some blocks only.
  std::vector<uint8_t> dense(size_t{150} * 150, 0);
  for (size_t i = 0; i < dense.size(); ++i) {
    const size_t row = i / 150;
    const size_t column = i % 150;
    dense[i] = row < 20 || column < 20 || (row + column) % 149 < 60 ? 1 : 0;
    if (row == 30 || row == 31) dense[i] = 0;
  }
  run_all(Mask::from_dense(dense, {150, 150}), small_machine(), 2);
}

TEST_P(TableKernel, ReluInTheLastBlockOnly) {
  const Mask mask = Mask::random({110, 120}, 0.3, 1);
  KernelCase kernel{Pass::forward, make_table_request(KernelKind::accumulate, 24)};
  const TapTable table = kernel.table(mask);
  kernel.request.relu = true;
  const Plan plan = plan_kernel(table, kernel.request, small_machine());
  ASSERT_GT(plan.blocks, 1);
  const KernelCode code = *emit_kernel(table, plan).code;
  for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    const auto instructions =
        frontend::disassemble(code, frontend::chunk_range(code, static_cast<int64_t>(chunk)));
    EXPECT_EQ(
        plan.chunks[chunk].block + 1 == plan.blocks,
        std::ranges::any_of(instructions, [](const auto& i) { return i.mnemonic == "vmaxps"; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, TableKernel, ::testing::Values(Edge::end, Edge::start),
                         [](const auto& edge) {
                           return edge.param == Edge::end ? "FlushToTheEnd" : "FlushToTheStart";
                         });

struct Emitted {
  TapTable table;
  Plan plan;
  KernelCode code;
};

template <typename Check>
void for_all_tables(const Check& check) {
  std::vector<Mask> masks = assorted_masks();
  masks.push_back(Mask::random({110, 120}, 0.3, 1));
  for (const Mask& mask : masks) {
    for (const KernelCase& kernel : table_cases()) {
      for (const MachineModel& machine : {made_up_machine(), small_machine()}) {
        SCOPED_TRACE(fmt::format("{}, {}x{} mask", to_text(kernel), mask.rows(), mask.cols()));
        const TapTable table = kernel.table(mask);
        const Plan plan = plan_kernel(table, kernel.request, machine);
        check(Emitted{table, plan, *emit_kernel(table, plan, {.notes = true}).code});
      }
    }
  }
}

// Calls check(chunk, word) for each word with a note.
template <typename Check>
void for_all_noted_words(const Emitted& emitted, const Check& check) {
  for (size_t chunk = 0; chunk < emitted.plan.chunks.size(); ++chunk) {
    for (const auto& word : frontend::table_words(emitted.code, static_cast<int64_t>(chunk))) {
      if (word.note) check(emitted.plan.chunks[chunk], word);
    }
  }
}

int64_t expected_word(const Emitted& emitted, const Chunk& chunk, const CodeNote& note) {
  const Plan& plan = emitted.plan;
  switch (note.kind) {
    case NoteKind::value:
    case NoteKind::d_value:
      return kFloatBytes * (value_slot(emitted.table, plan, note.tap) - chunk.value_base);
    case NoteKind::bias:
      return kFloatBytes * note.row;
    case NoteKind::gathered: {
      const Tap& tap = emitted.table.taps[static_cast<size_t>(note.tap)];
      return kFloatBytes * (tap.stream * plan.pitches.gathered + tap.shift);
    }
    case NoteKind::own:
      return kFloatBytes * note.row * plan.pitches.own;
    default:
      return -1;
  }
}

TEST(TableWords, SayWhereThingsAre) {
  for_all_tables([](const Emitted& emitted) {
    for_all_noted_words(emitted, [&](const Chunk& chunk, const frontend::TableWord& word) {
      const int64_t expected = expected_word(emitted, chunk, *word.note);
      // Where values are not named, they are addressed from before the entry of the body.
      const bool ahead = word.note->kind == NoteKind::value && !emitted.plan.names_values;
      EXPECT_LE(word.word, expected);
      EXPECT_GE(word.word, ahead ? expected - 16 * kFloatBytes : expected);
      EXPECT_GE(word.note->row, emitted.plan.part_begin[chunk.part]);
      EXPECT_LT(word.note->row, emitted.plan.part_begin[chunk.part + 1]);
    });
  });
}

// Once; twice where a row stands in for one that its group lacks.
TEST(TableWords, GatherEveryTap) {
  for_all_tables([](const Emitted& emitted) {
    std::map<int64_t, int> seen;
    for_all_noted_words(emitted, [&](const Chunk&, const frontend::TableWord& word) {
      if (word.note->kind == NoteKind::gathered) ++seen[word.note->tap];
    });
    EXPECT_EQ(std::ssize(seen), emitted.table.size());
    for (const auto& [tap, times] : seen) EXPECT_LE(times, emitted.plan.rows_per_group) << tap;
  });
}

TEST(TablePlan, IsForStreamsOfAtMostEightVectorsInOnePiece) {
  const MachineModel machine = made_up_machine();
  for (const KernelKind kind : {KernelKind::accumulate, KernelKind::fused, KernelKind::products}) {
    EXPECT_TRUE(can_use_table(make_table_request(kind, 8), machine));
    EXPECT_TRUE(can_use_table(make_table_request(kind, 64), machine));
    EXPECT_FALSE(can_use_table(make_table_request(kind, 65), machine));
    KernelRequest repeated = make_table_request(kind, 64);
    repeated.repeated = true;
    EXPECT_EQ(can_use_table(repeated, machine), kind == KernelKind::accumulate);
  }
  EXPECT_THROW(plan_kernel(lower_linear(Mask::random({9, 9}, 0.5, 1)),
                           make_table_request(KernelKind::fused, 65), machine),
               InternalError);
}

TEST(TablePlan, NamesValuesOnlyWhereTheyDoNotLieSideBySide) {
  const Mask mask = Mask::random({20, 30}, 0.5, 1);
  const auto names = [&](Pass side, KernelKind kind) {
    const KernelCase kernel{side, make_table_request(kind, 16)};
    return plan_kernel(kernel.table(mask), kernel.request, made_up_machine()).names_values;
  };
  EXPECT_FALSE(names(Pass::forward, KernelKind::accumulate));
  EXPECT_FALSE(names(Pass::forward, KernelKind::products));
  EXPECT_TRUE(names(Pass::backward, KernelKind::accumulate));
  EXPECT_TRUE(names(Pass::backward, KernelKind::fused));
}

TEST(TablePlan, DependsOnTheExactLength) {
  const MachineModel machine = made_up_machine();
  const KernelRequest request = make_table_request(KernelKind::accumulate, 61);
  EXPECT_EQ(canonical_request(request, machine), request);
}

TEST(TablePlan, BlocksFitTheFirstLevelCacheWhileRowsHaveTapsEnough) {
  const auto blocks = [](double sparsity) {
    return plan_kernel(lower_linear(Mask::random({768, 3072}, sparsity, 1)),
                       make_table_request(KernelKind::accumulate, 32), made_up_machine())
        .blocks;
  };
  EXPECT_EQ(blocks(0.9), 6);   // 64 KiB each
  EXPECT_EQ(blocks(0.97), 3);  // 31 taps a row
  EXPECT_EQ(blocks(0.99), 1);
}

TEST(TablePlan, FusedKernelsPrefetchWhatDoesNotFitTheSecondLevelCache) {
  const auto prefetch = [](Pass side, KernelKind kind, double sparsity) {
    const KernelCase kernel{side, make_table_request(kind, 32)};
    return plan_kernel(kernel.table(Mask::random({512, 512}, sparsity, 1)), kernel.request,
                       made_up_machine())
        .prefetch;
  };
  EXPECT_GT(prefetch(Pass::backward, KernelKind::fused, 0.5), 0);
  EXPECT_EQ(prefetch(Pass::backward, KernelKind::fused, 0.95), 0);
  EXPECT_EQ(prefetch(Pass::forward, KernelKind::accumulate, 0.95), 2);  // 26 values a row
  EXPECT_EQ(prefetch(Pass::backward, KernelKind::accumulate, 0.95), 0);
}

TEST(TablePlan, IsFarSmallerThanUnrolledCode) {
  const TapTable table = lower_linear(Mask::random({3072, 768}, 0.9, 1));
  KernelRequest request = make_request(KernelKind::accumulate, 32);
  const MachineModel machine = made_up_machine();
  const int64_t unrolled = plan_kernel(table, request, machine).code_bytes_estimate;
  request.table = true;
  EXPECT_LT(5 * plan_kernel(table, request, machine).code_bytes_estimate, unrolled);
}

}  // namespace
}  // namespace sparsejit::test
