// Disassembly: known bytes give known text, notes go to the instruction they point into, and bytes
// that do not decode never stop it.
#include "inspect/disassembly.h"

#include <gtest/gtest.h>

namespace sparsejit::test {
namespace {

using namespace frontend;

KernelCode code_of(std::vector<uint8_t> bytes) {
  KernelCode code;
  code.bytes = std::move(bytes);
  code.chunk_begin = {0, static_cast<int64_t>(code.bytes.size())};
  code.code_end = {code.chunk_begin.back()};
  return code;
}

std::vector<Instruction> all_of(const KernelCode& code) {
  return disassemble(code, chunk_range(code, 0));
}

TEST(Disassembly, DecodesVectorInstructionsInIntelSyntax) {
  const KernelCode code = code_of({0xC4, 0xE2, 0x7D, 0xB8, 0x87, 0x20, 0x00, 0x00, 0x00,  //
                                   0xC5, 0xF8, 0x77, 0xC3});
  const auto instructions = all_of(code);
  ASSERT_EQ(instructions.size(), 3U);
  EXPECT_EQ(instructions[0].text, "vfmadd231ps ymm0, ymm0, [rdi+0x20]");
  EXPECT_EQ(instructions[0].size, 9);
  EXPECT_EQ(instructions[0].displacement, 0x20);
  EXPECT_EQ(instructions[0].displacement_bytes, 4);
  EXPECT_EQ(instructions[1].mnemonic, "vzeroupper");
  EXPECT_EQ(instructions[2].mnemonic, "ret");
  EXPECT_EQ(instructions[2].at, 12);
}

TEST(Disassembly, BranchTargetsAreOffsetsIntoTheCode) {
  const auto instructions = all_of(code_of({0x90, 0x75, 0xFD, 0xC3}));
  ASSERT_EQ(instructions.size(), 3U);
  ASSERT_TRUE(instructions[1].branch_target.has_value());
  EXPECT_EQ(*instructions[1].branch_target, 0);
}

TEST(Disassembly, NotesGoToTheInstructionTheyPointInto) {
  KernelCode code = code_of({0xC5, 0xFC, 0x10, 0x87, 0x00, 0x01, 0x00, 0x00,  //
                             0xC5, 0xFC, 0x11, 0x86, 0x00, 0x02, 0x00, 0x00, 0xC3});
  code.notes = {{.at = 4, .kind = NoteKind::gathered, .row = 1, .tap = 7},
                {.at = 12, .kind = NoteKind::own, .row = 1}};
  const auto instructions = all_of(code);
  ASSERT_EQ(instructions.size(), 3U);
  ASSERT_TRUE(instructions[0].note.has_value());
  EXPECT_EQ(instructions[0].note->tap, 7);
  ASSERT_TRUE(instructions[1].note.has_value());
  EXPECT_EQ(instructions[1].note->kind, NoteKind::own);
  EXPECT_FALSE(instructions[2].note.has_value());
}

TEST(Disassembly, BadBytesAreSteppedOver) {
  const auto instructions = all_of(code_of({0x06, 0xC3, 0xC5, 0xFC}));
  ASSERT_EQ(instructions.size(), 4U);
  EXPECT_TRUE(instructions[0].bad());
  EXPECT_EQ(instructions[1].mnemonic, "ret");
  EXPECT_TRUE(instructions[2].bad()) << "an instruction that the end cuts off";
  EXPECT_EQ(instructions.back().end(), 4);
}

TEST(Disassembly, EmptyRangeHasNoInstructions) { EXPECT_TRUE(all_of(code_of({})).empty()); }

}  // namespace
}  // namespace sparsejit::test
