// Displacements at the edges of their encodings: one byte, four bytes, and beyond.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "sparsejit/emit.h"
#include "support/listing.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

constexpr KernelKind kKinds[] = {KernelKind::accumulate, KernelKind::fused, KernelKind::products};

// One row with one tap on the second stream, so that its displacement is 4 * pitch.
EmitResult emit_with_pitch(KernelKind kind, int64_t length, int64_t gathered_pitch) {
  KernelRequest request = make_request(kind, length);
  request.pitches.gathered = gathered_pitch;
  const TapTable table = lower_linear(Mask::from_smtx("1, 2, 1\n0 1\n1\n"));
  return emit_kernel(table, plan_kernel(table, request, made_up_machine()), {.notes = true});
}

std::set<int64_t> gathered_displacements(const KernelCode& code) {
  std::set<int64_t> result;
  for (const auto& instruction : chunk_instructions(code, 0)) {
    if (instruction.note && instruction.note->kind == NoteKind::gathered) {
      result.insert(instruction.displacement);
    }
  }
  return result;
}

TEST(EmitLimits, DisplacementsAroundOneByteAreExact) {
  for (const KernelKind kind : kKinds) {
    for (const int64_t length : {8, 904}) {
      for (const int64_t pitch : {31, 32, 33, -31, -32, -33}) {
        const EmitResult result = emit_with_pitch(kind, length, pitch);
        ASSERT_TRUE(result.code.has_value()) << result.reason;
        EXPECT_EQ(gathered_displacements(*result.code), std::set<int64_t>{4 * pitch}) << length;
      }
    }
  }
}

TEST(EmitLimits, LargestDisplacementIsExact) {
  constexpr int64_t kLargest = ((int64_t{1} << 31) - 4) / 4;
  constexpr int64_t kSmallest = -(int64_t{1} << 31) / 4;
  for (const KernelKind kind : kKinds) {
    for (const int64_t length : {8, 904}) {
      for (const int64_t pitch : {kLargest, kSmallest}) {
        const EmitResult result = emit_with_pitch(kind, length, pitch);
        ASSERT_TRUE(result.code.has_value()) << result.reason;
        EXPECT_EQ(gathered_displacements(*result.code), std::set<int64_t>{4 * pitch}) << length;
      }
    }
  }
}

TEST(EmitLimits, OneMoreIsAReasonInsteadOfCode) {
  for (const KernelKind kind : kKinds) {
    for (const int64_t length : {8, 904}) {
      for (const int64_t bytes : {int64_t{1} << 31, -(int64_t{1} << 31) - 4, int64_t{1} << 32}) {
        const EmitResult result = emit_with_pitch(kind, length, bytes / 4);
        EXPECT_FALSE(result.code.has_value()) << bytes;
        EXPECT_NE(result.reason.find(std::to_string(bytes)), std::string::npos) << result.reason;
      }
    }
  }
}

// The first vector's displacement still fits, the second one's does not.
TEST(EmitLimits, LaterVectorsOfAStreamCountToo) {
  constexpr int64_t kPitch = (int64_t{1} << 31) / 4 - 1;
  for (const KernelKind kind : {KernelKind::accumulate, KernelKind::products}) {
    const EmitResult result = emit_with_pitch(kind, 16, kPitch);
    EXPECT_FALSE(result.code.has_value());
    EXPECT_FALSE(result.reason.empty());
  }
}

TEST(EmitLimits, RowsOfTheOutputCountToo) {
  const TapTable table = lower_linear(Mask::from_smtx("3, 1, 0\n0 0 0 0\n\n"));
  KernelRequest request = make_request(KernelKind::accumulate, 8);
  request.pitches.own = (int64_t{1} << 30) / 4;
  const EmitResult result = emit_kernel(table, plan_kernel(table, request, made_up_machine()));
  EXPECT_FALSE(result.code.has_value());
  EXPECT_NE(result.reason.find("2147483648"), std::string::npos) << result.reason;
}

}  // namespace
}  // namespace sparsejit::test
