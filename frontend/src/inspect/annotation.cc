// One text for each kind of note; products get theirs from what the registers hold, the entry of a
// chunk from the layout of KernelArguments; see annotation.h. Which floats of a stream an access
// covers is computed from its displacement, so a wrong displacement shows.
#include "inspect/annotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "inspect/held_notes.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kFloatBytes = 4;

const Tap& tap_at(const TapTable& table, int64_t tap) {
  SPARSEJIT_CHECK(tap, >=, 0);
  SPARSEJIT_CHECK(tap, <, table.size());
  return table.taps[static_cast<size_t>(tap)];
}

// The kernel whose instructions are annotated.
struct Subject {
  const InspectedLayer& layer;
  const Plan& plan;
  Pass side;

  const Tap& tap(int64_t number) const { return tap_at(layer.of(side), number); }
  std::string row_name(int64_t row) const {
    return side == Pass::forward ? layer.output_name(row, true) : layer.input_name(row, true);
  }
  std::string stream_name(const Tap& tap) const {
    return side == Pass::forward ? layer.input_name(tap.stream, false)
                                 : layer.output_name(tap.stream, false);
  }
};

// A vector access covers the gradients of consecutive taps.
std::string gradient_text(const CodeNote& note, const Subject& subject, int access_bytes) {
  std::string text;
  for (int64_t i = 0; i * kFloatBytes < access_bytes; ++i) {
    if (i > 0) text += ' ';
    text += fmt::format("d_w[{}]", subject.tap(note.tap + i).value);
  }
  return text;
}

// Which floats of a stream that begins at `start`; nothing when a stream is one vector or a loop.
std::string floats_text(const Access& access, int64_t start, const Plan& plan) {
  if (plan.vectors <= 1 || access.bytes == 0) return {};
  const int64_t first = access.displacement / kFloatBytes - start;
  return fmt::format(" [{}:{}]", first, first + access.bytes / kFloatBytes);
}

std::string row_text(const Access& access, int64_t pitch, const Subject& subject) {
  const CodeNote& note = access.note;
  return fmt::format("{} {}{}", array_name(note.kind, subject.side), subject.row_name(note.row),
                     floats_text(access, note.row * pitch, subject.plan));
}

int64_t row_in_part(int64_t row, const Plan& plan) {
  return row - *std::prev(std::ranges::upper_bound(plan.part_begin, row));
}

std::string gathered_text(const Access& access, const Subject& subject) {
  const Tap& tap = subject.tap(access.note.tap);
  const Plan& plan = subject.plan;
  const Tap& walked = tap_at(subject.layer.of(subject.side, plan.unshifted()), access.note.tap);
  const bool in_block = plan.unshifted() && plan.block_streams != 0;
  const int64_t stream = in_block ? walked.stream % plan.block_streams : walked.stream;
  const int64_t start = stream * plan.pitches.gathered + walked.shift;
  const std::string shift = tap.shift == 0 ? "" : fmt::format("[{:+}]", tap.shift);
  return fmt::format("{} {}{}{} (tap w[{}])", array_name(access.note.kind, subject.side),
                     subject.stream_name(tap), shift, floats_text(access, start, subject.plan),
                     tap.value);
}

// A vector access covers the values of consecutive taps.
std::string value_text(const Access& access, const Subject& subject) {
  const int32_t value = subject.tap(access.note.tap).value;
  if (access.bytes <= kFloatBytes) {
    return fmt::format("w[{}] = {}", value, subject.layer.weight_name(value));
  }
  return fmt::format("w[{}] to w[{}]", value, value + access.bytes / kFloatBytes - 1);
}

std::string access_text(const Access& access, const Subject& subject) {
  const CodeNote& note = access.note;
  switch (note.kind) {
    case NoteKind::value:
      return value_text(access, subject);
    case NoteKind::d_value:
      return gradient_text(note, subject, access.bytes);
    case NoteKind::gathered:
      return gathered_text(access, subject);
    case NoteKind::own:
      return row_text(access, subject.plan.pitches.own, subject);
    case NoteKind::paired:
      return row_text(access, subject.plan.pitches.paired, subject);
    case NoteKind::bias:
      return fmt::format("{}[{}]", array_name(note.kind, subject.side), note.row);
    case NoteKind::partial:
      return fmt::format(
          "{} of {}{}", array_name(note.kind, subject.side), subject.row_name(note.row),
          floats_text(access, row_in_part(note.row, subject.plan) * kTileFloats, subject.plan));
    case NoteKind::prefetch:
      return "for the next tile";
    case NoteKind::loop:
      return "next tile";
  }
  throw InternalError(fmt::format("note of unknown kind {}", static_cast<int>(note.kind)));
}

// What the entry of a chunk reads.
std::string argument_text(const Instruction& instruction) {
  if (instruction.mnemonic != "mov" || instruction.access_bytes == 0) return {};
  if (instruction.base != "rdi") return {};
  switch (instruction.displacement) {
    case offsetof(KernelArguments, gathered):
      return "arguments.gathered";
    case offsetof(KernelArguments, own):
      return "arguments.own";
    case offsetof(KernelArguments, paired):
      return "arguments.paired";
    case offsetof(KernelArguments, values):
      return "arguments.values";
    case offsetof(KernelArguments, start_or_d_values):
      return "arguments.start_or_d_values";
    case offsetof(KernelArguments, loop_bytes):
      return "arguments.loop_bytes";
    case offsetof(KernelArguments, tail_offset):
      return "arguments.tail_offset";
    case offsetof(KernelArguments, tail_mask):
      return "arguments.tail_mask";
    case offsetof(KernelArguments, partial):
      return "arguments.partial";
    default:
      return {};
  }
}

std::string product_text(const Instruction& instruction, const HeldNotes& held,
                         const Subject& subject) {
  if (instruction.mnemonic != "vfmadd231ps") return {};
  if (const CodeNote* value = held.find_source(instruction, NoteKind::value)) {
    return fmt::format("{} {} += w[{}] * {}", array_name(NoteKind::own, subject.side),
                       subject.row_name(value->row), subject.tap(value->tap).value,
                       array_name(NoteKind::gathered, subject.side));
  }
  if (const CodeNote* gathered = held.find_source(instruction, NoteKind::gathered)) {
    return fmt::format("sum of d_w[{}] += x * dy", subject.tap(gathered->tap).value);
  }
  return {};
}

}  // namespace

std::vector<std::string> annotate(std::span<const Instruction> instructions,
                                  const InspectedLayer& layer, const Plan& plan, Pass side) {
  const Subject subject{layer, plan, side};
  std::vector<std::string> texts;
  HeldNotes held;
  for (const Instruction& instruction : instructions) {
    const std::optional<Access> access = held.access_of(instruction);
    std::string text;
    if (access) {
      text = access_text(*access, subject);
    } else {
      text = product_text(instruction, held, subject);
      if (text.empty()) text = argument_text(instruction);
    }
    texts.push_back(std::move(text));
    held.follow(instruction, access);
  }
  return texts;
}

std::string annotate(const TableWord& word, const InspectedLayer& layer, const Plan& plan,
                     Pass side) {
  if (!word.note) return {};
  return access_text({*word.note, word.word, 0}, {layer, plan, side});
}

const char* array_name(NoteKind kind, Pass side) {
  const bool outputs = side == Pass::forward;
  switch (kind) {
    case NoteKind::value:
      return "values";
    case NoteKind::bias:
      return outputs ? "bias" : "zeros";
    case NoteKind::gathered:
      return outputs ? "x" : "dy";
    case NoteKind::own:
      return outputs ? "y" : "dx";
    case NoteKind::paired:
      return outputs ? "dy" : "x";
    case NoteKind::d_value:
      return "d_values";
    case NoteKind::partial:
      return "sums";
    case NoteKind::prefetch:
    case NoteKind::loop:
      break;
  }
  throw InternalError(fmt::format("note of unknown kind {}", static_cast<int>(kind)));
}

}  // namespace sparsejit::frontend
