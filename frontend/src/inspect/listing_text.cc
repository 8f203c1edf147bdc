// Taps and listing sections; see report.h. A listing of two taps of row 3:
//
//     row 3, chunk 0 (part 0, block 0): 2 taps, bytes 0x40 to 0x82
//         40  vbroadcastss ymm0, dword ptr [rdx+0xa8]             ; w[42] = W[3,17]
//         49  vbroadcastss ymm1, dword ptr [rdx+0xac]             ; w[43] = W[3,30]
//     >   60  vmovaps ymm15, ymm13
//         ...                                                     (> marks targets of branches)
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "inspect/annotation.h"
#include "inspect/report.h"

namespace sparsejit::frontend {
namespace {

constexpr size_t kLineWidth = 96;
constexpr size_t kMaxTextWidth = 60;

// Breaks lines at spaces; continuation lines are indented. No word is as long as a line.
std::vector<std::string> wrap(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    std::string indent = "  ";
    while (line.size() > kLineWidth) {
      const size_t space = line.rfind(' ', kLineWidth);
      lines.push_back(indent + std::string(line.substr(0, space)));
      line.remove_prefix(space + 1);
      indent = "    ";
    }
    lines.push_back(indent + std::string(line));
  }
  return lines;
}

// Only as many rows as can be shown are turned into text: the whole layer would be megabytes.
std::string rows_text(const TapTable& table, const Listing& listing, int64_t max_lines) {
  const int64_t rows = max_lines == 0 ? listing.rows : std::min(listing.rows, max_lines);
  return to_text(table, listing.first_row, rows);
}

std::string hex_bytes(const KernelCode& code, const Instruction& instruction) {
  std::string text;
  for (int64_t at = instruction.at; at < instruction.end(); ++at) {
    text += fmt::format("{:02x} ", code.bytes[static_cast<size_t>(at)]);
  }
  return fmt::format("{:<33}", text);
}

// What the number of a gathered stream is.
std::string stream_legend(const KernelInspection& kernel) {
  if (!kernel.layer->conv) return "stream";
  const size_t planes = kernel.layer->conv->streams.source.planes.size();
  if (planes == 1 || kernel.side == Pass::backward) return "channel";
  return fmt::format("channel * {} + plane", planes);
}

// "row 3, " or, where rows share loads, "row 3 among rows 0 to 5, ".
std::string row_title(int64_t row, const std::vector<Instruction>& instructions) {
  int64_t first = row;
  int64_t last = row;
  for (const Instruction& instruction : instructions) {
    if (!instruction.note || instruction.note->row < 0) continue;
    first = std::min<int64_t>(first, instruction.note->row);
    last = std::max<int64_t>(last, instruction.note->row);
  }
  if (first == last) return fmt::format("row {}, ", row);
  return fmt::format("row {} among rows {} to {}, ", row, first, last);
}

std::string piece_title(const RowCode& piece, const Plan& plan) {
  const Chunk& chunk = plan.chunks[static_cast<size_t>(piece.chunk)];
  return fmt::format("chunk {} (part {}, block {}): {} taps, bytes 0x{:x} to 0x{:x}\n", piece.chunk,
                     chunk.part, chunk.block, piece.taps, piece.range.begin, piece.range.end);
}

// The first `count` of `instructions`, one a line.
std::string instruction_lines(const KernelInspection& kernel,
                              const std::vector<Instruction>& instructions, size_t count,
                              bool bytes) {
  const std::vector<std::string> notes =
      annotate(instructions, *kernel.layer, kernel.plan, kernel.side);
  std::set<int64_t> targets;
  for (const Instruction& instruction : instructions) {
    if (instruction.branch_target) targets.insert(*instruction.branch_target);
  }
  size_t width = 0;
  for (size_t i = 0; i < count; ++i) {
    width = std::max(width, std::min(instructions[i].text.size(), kMaxTextWidth));
  }
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = instructions[i];
    const char mark = targets.count(instruction.at) != 0 ? '>' : ' ';
    text += fmt::format("  {} {:>7x}  {}", mark, instruction.at,
                        bytes ? hex_bytes(kernel.code, instruction) : "");
    text += notes[i].empty() ? instruction.text
                             : fmt::format("{:<{}}  ; {}", instruction.text, width, notes[i]);
    text += '\n';
  }
  return text;
}

// Words of the table behind the code of a piece, at most `left` of them.
std::string table_lines(const KernelInspection& kernel, const std::vector<TableWord>& words,
                        size_t left) {
  if (words.empty()) return {};
  std::string text = "             table, in bytes\n";
  for (size_t i = 0; i < std::min(words.size(), left); ++i) {
    const std::string note = annotate(words[i], *kernel.layer, kernel.plan, kernel.side);
    text += fmt::format("    {:>7x}  {}", words[i].at, words[i].word);
    if (!note.empty()) text += fmt::format("  ; {}", note);
    text += '\n';
  }
  if (left < words.size()) {
    text += fmt::format("             ... {} more words\n", words.size() - left);
  }
  return text;
}

// "x at rdi, values at rcx": where the arrays of these instructions are.
std::string arrays_text(const std::vector<Instruction>& instructions, Pass side) {
  std::map<NoteKind, std::string_view> bases;
  for (const Instruction& instruction : instructions) {
    if (!instruction.note || instruction.base.empty()) continue;
    const NoteKind kind = instruction.note->kind;
    if (kind != NoteKind::prefetch) bases[kind] = instruction.base;
  }
  std::string text;
  for (const auto& [kind, base] : bases) {
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", array_name(kind, side), base);
  }
  return text;
}

}  // namespace

std::string taps_section(const KernelInspection& kernel, const Listing& listing,
                         const ReportOptions& options) {
  std::string text = fmt::format("taps (v: value index, s: {})\n", stream_legend(kernel));
  const std::vector<std::string> lines =
      wrap(rows_text(kernel.table(), listing, options.max_lines));
  const auto count = static_cast<int64_t>(lines.size());
  const int64_t shown = options.max_lines == 0 ? count : std::min(count, options.max_lines);
  for (int64_t i = 0; i < shown; ++i) text += lines[static_cast<size_t>(i)] + '\n';
  if (shown < count || (options.max_lines != 0 && options.max_lines < listing.rows)) {
    text += "  ... more; --max-lines 0 shows all\n";
  }
  return text;
}

std::string listing_section(const KernelInspection& kernel, const Listing& listing,
                            const ReportOptions& options) {
  std::string text = "code\n";
  if (listing.rows == 0) text += "  none: the layer has no rows\n";
  if (listing.rows > 0 && listing.pieces.empty()) text += "  none: this row needs no work\n";
  size_t left = options.max_lines == 0 ? SIZE_MAX : static_cast<size_t>(options.max_lines);
  bool complete = true;
  for (const RowCode& piece : listing.pieces) {
    const std::vector<Instruction> instructions = disassemble(kernel.code, piece.range);
    const size_t count = std::min(instructions.size(), left);
    left -= count;
    text += "  ";
    if (listing.choice.row) text += row_title(*listing.choice.row, instructions);
    text += piece_title(piece, kernel.plan);
    const std::string arrays = arrays_text(instructions, kernel.side);
    if (count > 0 && !arrays.empty()) text += fmt::format("             {}\n", arrays);
    text += instruction_lines(kernel, instructions, count, options.bytes);
    if (count < instructions.size()) {
      text += fmt::format("             ... {} more instructions\n", instructions.size() - count);
    }
    const std::vector<TableWord> words =
        find_table_words(kernel.code, piece.chunk, listing.choice.row);
    text += table_lines(kernel, words, left);
    complete &= count == instructions.size() && words.size() <= left;
    left -= std::min(words.size(), left);
  }
  if (!complete) text += "  --max-lines 0 lists all\n";
  return text;
}

}  // namespace sparsejit::frontend
