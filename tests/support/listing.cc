// See listing.h.
#include "support/listing.h"

#include <fmt/format.h>

#include <iterator>

namespace sparsejit::test {
namespace {

std::string note_text(const CodeNote& note) {
  const std::string tap = note.tap < 0 ? "" : fmt::format(" tap {}", note.tap);
  return fmt::format("{} row {}{}", to_text(note.kind), note.row, tap);
}

}  // namespace

std::vector<frontend::Instruction> chunk_instructions(const KernelCode& code, int64_t chunk) {
  std::vector<frontend::Instruction> instructions =
      frontend::disassemble(code, frontend::chunk_range(code, chunk));
  while (!instructions.empty() && instructions.back().mnemonic == "int3") instructions.pop_back();
  return instructions;
}

std::string listing(const KernelCode& code) {
  std::string text;
  auto out = std::back_inserter(text);
  for (size_t chunk = 0; chunk + 1 < code.chunk_begin.size(); ++chunk) {
    fmt::format_to(out, "chunk {}\n", chunk);
    for (const auto& instruction : chunk_instructions(code, static_cast<int64_t>(chunk))) {
      const std::string note = instruction.note ? note_text(*instruction.note) : "";
      std::string line = fmt::format("  {:04x}  {:<50} {}", instruction.at, instruction.text, note);
      line.erase(line.find_last_not_of(' ') + 1);
      fmt::format_to(out, "{}\n", line);
    }
    for (const auto& word : frontend::table_words(code, static_cast<int64_t>(chunk))) {
      const std::string note = word.note ? "  " + note_text(*word.note) : "";
      fmt::format_to(out, "  {:04x}  {:#x}{}\n", word.at, word.word, note);
    }
  }
  return text;
}

}  // namespace sparsejit::test
