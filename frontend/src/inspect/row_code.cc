// Notes give the first and last instruction; the un-noted ones around them are shared out at the
// branches: a branch back into a row ends that row's code, and what follows leads up to the next.
// Interleaved rows keep to their notes.
#include "inspect/row_code.h"

#include <algorithm>
#include <optional>
#include <set>

namespace sparsejit::frontend {
namespace {

using Instructions = std::vector<Instruction>;

size_t skip_nops(const Instructions& instructions, size_t at) {
  while (at < instructions.size() && instructions[at].nop()) ++at;
  return at;
}

// First instruction that leads up to `first` and does not belong to the row before it.
size_t find_begin(const Instructions& instructions, size_t first) {
  size_t at = first;
  while (at > 0 && !instructions[at - 1].note && !instructions[at - 1].branch_target) --at;
  return at == 0 ? 0 : skip_nops(instructions, at);
}

// One past the loop end that follows `last`, or past `last` itself.
size_t find_end(const Instructions& instructions, size_t begin, size_t last) {
  size_t end = last + 1;
  for (size_t at = end; at < instructions.size() && !instructions[at].note; ++at) {
    const std::optional<int64_t>& target = instructions[at].branch_target;
    if (target && *target >= instructions[begin].at && *target <= instructions[last].at) {
      end = skip_nops(instructions, at + 1);
    }
  }
  return end;
}

std::optional<ByteRange> find_range(const Instructions& instructions, int64_t row) {
  const auto serves_row = [row](const Instruction& i) { return i.note && i.note->row == row; };
  const auto first = std::find_if(instructions.begin(), instructions.end(), serves_row);
  if (first == instructions.end()) return std::nullopt;
  const auto last = std::find_if(instructions.rbegin(), instructions.rend(), serves_row);
  const auto last_index = static_cast<size_t>(instructions.rend() - last - 1);
  const auto first_index = static_cast<size_t>(first - instructions.begin());
  const bool interleaved =
      std::any_of(first, instructions.begin() + static_cast<ptrdiff_t>(last_index),
                  [row](const Instruction& i) { return i.note && i.note->row != row; });
  const size_t begin = interleaved ? first_index : find_begin(instructions, first_index);
  const size_t end = find_end(instructions, begin, last_index);
  return ByteRange{instructions[begin].at, instructions[end - 1].end()};
}

int64_t count_taps(const Instructions& instructions, int64_t row) {
  std::set<int64_t> taps;
  for (const Instruction& instruction : instructions) {
    const std::optional<CodeNote>& note = instruction.note;
    if (note && note->row == row && note->tap >= 0) taps.insert(note->tap);
  }
  return static_cast<int64_t>(taps.size());
}

// All of the chunk's code, if its table has the row.
std::optional<RowCode> find_in_table(const KernelCode& code, int64_t chunk, int64_t row) {
  std::set<int64_t> taps;
  const std::vector<TableWord> words = find_table_words(code, chunk, row);
  for (const TableWord& word : words) {
    if (word.note->tap >= 0) taps.insert(word.note->tap);
  }
  if (words.empty()) return std::nullopt;
  return RowCode{.chunk = chunk, .taps = std::ssize(taps), .range = chunk_range(code, chunk)};
}

}  // namespace

std::vector<TableWord> find_table_words(const KernelCode& code, int64_t chunk,
                                        std::optional<int64_t> row) {
  std::vector<TableWord> words = table_words(code, chunk);
  if (!row) return words;
  std::erase_if(words, [row](const TableWord& w) { return !w.note || w.note->row != *row; });
  return words;
}

std::vector<RowCode> find_row_code(const KernelCode& code, const Plan& plan, int64_t row) {
  std::vector<RowCode> found;
  for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    const auto part = static_cast<size_t>(plan.chunks[chunk].part);
    if (row < plan.part_begin[part] || row >= plan.part_begin[part + 1]) continue;
    const auto index = static_cast<int64_t>(chunk);
    if (plan.family == KernelFamily::table || plan.family == KernelFamily::strip) {
      if (const auto piece = find_in_table(code, index, row)) found.push_back(*piece);
      continue;
    }
    const Instructions instructions =
        disassemble(code, chunk_range(code, index), InstructionText::none);
    const std::optional<ByteRange> range = find_range(instructions, row);
    if (range) {
      found.push_back({.chunk = index, .taps = count_taps(instructions, row), .range = *range});
    }
  }
  return found;
}

}  // namespace sparsejit::frontend
