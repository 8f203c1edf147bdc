// Properties of all generated code, checked on its disassembly: it decodes, keeps the calling
// convention, and its notes tell where every float it touches lives. Nothing is run here.
#include "sparsejit/emit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "support/listing.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

using frontend::Instruction;

constexpr int64_t kFloatBytes = 4;

struct Emitted {
  TapTable table;
  Plan plan;
  KernelCode code;
};

Emitted emit(const Mask& mask, const KernelCase& kernel, const MachineModel& machine) {
  Emitted result;
  result.table = kernel.table(mask);
  result.plan = plan_kernel(result.table, kernel.request, machine);
  EmitResult emitted = emit_kernel(result.table, result.plan, {.notes = true});
  if (!emitted.code) throw std::runtime_error("no code: " + emitted.reason);
  result.code = std::move(*emitted.code);
  return result;
}

template <typename Check>
void for_all_code(const Check& check) {
  for (const Mask& mask : assorted_masks()) {
    for (const KernelCase& kernel : assorted_cases()) {
      for (const MachineModel& machine : made_up_machines()) {
        SCOPED_TRACE(fmt::format("{}, {}x{} mask, {}", to_text(kernel), mask.rows(), mask.cols(),
                                 to_text(machine)));
        check(emit(mask, kernel, machine));
      }
    }
  }
}

// Calls check(instructions) for every chunk of every kernel.
template <typename Check>
void for_all_chunks(const Check& check) {
  for_all_code([&](const Emitted& emitted) {
    const auto chunks = static_cast<int64_t>(emitted.plan.chunks.size());
    ASSERT_EQ(static_cast<int64_t>(emitted.code.chunk_begin.size()), chunks + 1);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      check(chunk_instructions(emitted.code, chunk));
    }
  });
}

bool mentions(const Instruction& instruction, std::string_view word) {
  return instruction.text.find(word) != std::string::npos;
}

TEST(Emit, EveryByteDecodes) {
  for_all_chunks([](const std::vector<Instruction>& chunk) {
    for (const Instruction& instruction : chunk) {
      EXPECT_FALSE(instruction.bad()) << instruction.text;
      EXPECT_NE(instruction.mnemonic, "int3") << "padding inside a chunk, at " << instruction.at;
    }
  });
}

TEST(Emit, ChunksEndWithVzeroupperAndTheirOnlyReturn) {
  for_all_chunks([](const std::vector<Instruction>& chunk) {
    ASSERT_GE(chunk.size(), 2U);
    EXPECT_EQ(chunk.back().mnemonic, "ret");
    EXPECT_EQ(chunk[chunk.size() - 2].mnemonic, "vzeroupper");
    const auto is_return = [](const Instruction& i) { return i.mnemonic == "ret"; };
    EXPECT_EQ(std::count_if(chunk.begin(), chunk.end(), is_return), 1);
  });
}

TEST(Emit, NoLegacySseAmongVectorInstructions) {
  for_all_chunks([](const std::vector<Instruction>& chunk) {
    for (const Instruction& instruction : chunk) {
      if (mentions(instruction, "mm")) {
        EXPECT_EQ(instruction.mnemonic[0], 'v') << instruction.text;
      }
    }
  });
}

TEST(Emit, ZmmRegistersOnlyWhereThePlanHasSixteenLanes) {
  for_all_code([](const Emitted& emitted) {
    for (size_t chunk = 0; chunk < emitted.plan.chunks.size(); ++chunk) {
      for (const Instruction& i : chunk_instructions(emitted.code, static_cast<int64_t>(chunk))) {
        EXPECT_FALSE(mentions(i, "zmm") && emitted.plan.lanes != 16) << i.text;
        EXPECT_FALSE(mentions(i, "ymm") && emitted.plan.lanes == 16) << i.text;
      }
    }
  });
}

TEST(Emit, CalleeSavedRegistersStackAndMxcsrAreLeftAlone) {
  for_all_chunks([](const std::vector<Instruction>& chunk) {
    for (const Instruction& instruction : chunk) {
      for (const char* word : {"rbx", "ebx", "rbp", "ebp", "rsp", "esp", "r12", "r13", "r14", "r15",
                               "push", "pop", "call", "mxcsr", "std", "syscall"}) {
        EXPECT_FALSE(mentions(instruction, word)) << instruction.text;
      }
    }
  });
}

TEST(Emit, BranchesGoToInstructionsOfTheirOwnChunk) {
  for_all_chunks([](const std::vector<Instruction>& chunk) {
    std::set<int64_t> starts;
    for (const Instruction& instruction : chunk) starts.insert(instruction.at);
    for (const Instruction& instruction : chunk) {
      if (!instruction.branch_target) continue;
      EXPECT_EQ(starts.count(*instruction.branch_target), 1U) << instruction.text;
    }
  });
}

TEST(Emit, ChunksStartOnCacheLines) {
  for_all_code([](const Emitted& emitted) {
    for (size_t i = 0; i + 1 < emitted.code.chunk_begin.size(); ++i) {
      EXPECT_EQ(emitted.code.chunk_begin[i] % 64, 0);
    }
    EXPECT_EQ(emitted.code.chunk_begin.back(), static_cast<int64_t>(emitted.code.bytes.size()));
  });
}

const Chunk& chunk_at(const Emitted& emitted, int64_t byte) {
  size_t chunk = 0;
  while (emitted.code.chunk_begin[chunk + 1] <= byte) ++chunk;
  return emitted.plan.chunks[chunk];
}

// The byte offset that a note's kind, row and tap stand for, less the vector within the stream.
int64_t noted_offset(const Emitted& emitted, const CodeNote& note) {
  const Plan& plan = emitted.plan;
  switch (note.kind) {
    case NoteKind::value:
    case NoteKind::d_value:
      return kFloatBytes *
             (value_slot(emitted.table, plan, note.tap) - chunk_at(emitted, note.at).value_base);
    case NoteKind::bias:
      return kFloatBytes * note.row;
    case NoteKind::gathered: {
      const bool tiled = plan.family == KernelFamily::tiled;
      const int64_t first = tiled ? chunk_at(emitted, note.at).block * plan.block_streams : 0;
      return kFloatBytes * (emitted.table.taps[note.tap].stream - first) * plan.pitches.gathered;
    }
    case NoteKind::own:
      return kFloatBytes * note.row * plan.pitches.own;
    case NoteKind::paired:
      return kFloatBytes * note.row * plan.pitches.paired;
    case NoteKind::partial:
      return kFloatBytes * kTileFloats *
             (note.row - plan.part_begin[chunk_at(emitted, note.at).part]);
    case NoteKind::prefetch:
    case NoteKind::loop:
      break;
  }
  return -1;
}

bool is_stream_access(NoteKind kind) {
  return kind == NoteKind::gathered || kind == NoteKind::own || kind == NoteKind::paired ||
         kind == NoteKind::partial;
}

// What an access to a stream may be away from the stream's start: a whole vector, or the last
// vector of a resident stream, which ends where the stream ends.
bool is_vector_offset(const Plan& plan, int64_t bytes) {
  if (plan.family == KernelFamily::stream) return bytes == 0;
  const int64_t vector = 4 * plan.lanes;
  const int64_t last = 4 * (plan.family == KernelFamily::tiled ? kTileFloats : plan.panel) - vector;
  return bytes == last || (bytes >= 0 && bytes < last && bytes % vector == 0);
}

struct Access {
  std::optional<CodeNote> note;
  int64_t displacement = 0;
};

// All accesses to memory of one chunk. Where a stream's address was computed first, with the note,
// accesses relative to it count as noted:
//
//     lea rax, [rdi+0x2100]      gathered row 0 tap 1
//     vmovups ymm0, [rax+0x20]
std::vector<std::pair<Instruction, Access>> accesses(const std::vector<Instruction>& chunk) {
  std::vector<std::pair<Instruction, Access>> result;
  Access base;
  for (const Instruction& instruction : chunk) {
    if (!mentions(instruction, "[") || instruction.mnemonic == "nop") continue;
    Access access = {instruction.note, instruction.displacement};
    if (instruction.mnemonic == "lea") {
      base = access;
      continue;
    }
    if (!instruction.note && mentions(instruction, "[rax")) {
      access = {base.note, base.displacement + instruction.displacement};
    }
    result.emplace_back(instruction, access);
  }
  return result;
}

// Un-noted are only the loads of the arguments and of the lanes' mask.
bool is_argument_access(const Instruction& instruction) {
  return instruction.mnemonic == "mov" || mentions(instruction, "[r11]");
}

// Of tables: table_kernel_test.cc.
TEST(Emit, EveryMemoryAccessIsNotedAndItsDisplacementIsRight) {
  for_all_code([](const Emitted& emitted) {
    if (emitted.plan.family == KernelFamily::table) return;
    for (size_t chunk = 0; chunk < emitted.plan.chunks.size(); ++chunk) {
      for (const auto& [instruction, access] :
           accesses(chunk_instructions(emitted.code, static_cast<int64_t>(chunk)))) {
        ASSERT_NE(access.note.has_value(), is_argument_access(instruction)) << instruction.text;
        if (!access.note) continue;
        ASSERT_EQ(access.note->kind == NoteKind::prefetch,
                  instruction.mnemonic.starts_with("prefetch"));
        if (access.note->kind == NoteKind::prefetch) continue;
        const int64_t beyond = access.displacement - noted_offset(emitted, *access.note);
        EXPECT_TRUE(is_stream_access(access.note->kind) ? is_vector_offset(emitted.plan, beyond)
                                                        : beyond == 0)
            << instruction.text;
      }
    }
  });
}

// The taps whose value or gradient an instruction touches. Consecutive ones are reached by one wide
// access, noted with the first of them.
std::set<int64_t> touched_taps(const Emitted& emitted, NoteKind kind) {
  std::set<int64_t> taps;
  for (size_t chunk = 0; chunk < emitted.plan.chunks.size(); ++chunk) {
    for (const Instruction& instruction :
         chunk_instructions(emitted.code, static_cast<int64_t>(chunk))) {
      if (!instruction.note || instruction.note->kind != kind) continue;
      const int64_t count = kind == NoteKind::gathered ? 1 : instruction.access_bytes / 4;
      for (int64_t i = 0; i < count; ++i) taps.insert(instruction.note->tap + i);
    }
  }
  return taps;
}

// Interleaved rows share loads, so a stream is gathered for at least one of
// them.
TEST(Emit, EveryTapIsGatheredAndItsValueUsed) {
  for_all_code([](const Emitted& emitted) {
    if (emitted.plan.family == KernelFamily::table) return;
    std::set<int64_t> gathered_streams;
    std::set<int64_t> needed_streams;
    std::set<int64_t> all_taps;
    for (const int64_t tap : touched_taps(emitted, NoteKind::gathered)) {
      gathered_streams.insert(emitted.table.taps[tap].stream);
    }
    for (int64_t tap = 0; tap < emitted.table.size(); ++tap) {
      all_taps.insert(tap);
      needed_streams.insert(emitted.table.taps[tap].stream);
    }
    const bool uses_values = emitted.plan.kind != KernelKind::products;
    const bool makes_gradients = emitted.plan.kind != KernelKind::accumulate;
    EXPECT_EQ(gathered_streams, needed_streams);
    EXPECT_EQ(touched_taps(emitted, NoteKind::value), uses_values ? all_taps : std::set<int64_t>{});
    EXPECT_EQ(touched_taps(emitted, NoteKind::d_value),
              makes_gradients ? all_taps : std::set<int64_t>{});
  });
}

TEST(Emit, IsDeterministicAndNotesDoNotChangeTheBytes) {
  for_all_code([](const Emitted& emitted) {
    const EmitResult again = emit_kernel(emitted.table, emitted.plan);
    ASSERT_TRUE(again.code.has_value());
    EXPECT_EQ(again.code->bytes, emitted.code.bytes);
    EXPECT_EQ(again.code->chunk_begin, emitted.code.chunk_begin);
    EXPECT_EQ(again.code->code_end, emitted.code.code_end);
    EXPECT_TRUE(again.code->notes.empty());
  });
}

// The estimate decides what fits the code budget and whether compiling pays; 20% is close enough
// for that.
TEST(Emit, CodeBytesAreCloseToTheEstimate) {
  const Mask mask = Mask::random({512, 256}, 0.9, 8);
  for (const KernelCase& kernel : assorted_cases()) {
    for (const MachineModel& machine : {made_up_machine(), with_avx512(made_up_machine())}) {
      const Emitted emitted = emit(mask, kernel, machine);
      const double ratio = static_cast<double>(emitted.code.bytes.size()) /
                           static_cast<double>(emitted.plan.code_bytes_estimate);
      EXPECT_GT(ratio, 0.8) << to_text(kernel) << ", " << to_text(machine);
      EXPECT_LT(ratio, 1.2) << to_text(kernel) << ", " << to_text(machine);
    }
  }
}

}  // namespace
}  // namespace sparsejit::test
