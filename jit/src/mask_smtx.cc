// .smtx: the text format of the Deep Learning Matrix Collection.
//
//     4, 6, 5            rows, cols, stored weights
//     0 2 2 3 5          rows+1 row offsets
//     0 4 1 2 5          column indices, strictly increasing inside each row
//
// Numbers may be separated by blanks or commas. No number in the header makes the parser allocate:
// arrays grow with the numbers that are really there.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "mask_builder.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

bool is_separator(char c) { return c == ' ' || c == '\t' || c == ',' || c == '\r'; }

// Takes the first line off the text; what follows the last newline counts as a line too.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

std::vector<int64_t> parse_numbers(std::string_view line, int number, std::string_view source) {
  std::vector<int64_t> numbers;
  const char* at = line.data();
  const char* end = line.data() + line.size();
  while (true) {
    while (at != end && is_separator(*at)) ++at;
    if (at == end) return numbers;
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (next != end && !is_separator(*next))) {
      const std::string_view word(at, std::min<size_t>(end - at, 20));
      throw_error("{}: line {}: \"{}\" is not a whole number", source, number,
                  word.substr(0, word.find_first_of(" \t,\r")));
    }
    numbers.push_back(value);
    at = next;
  }
}

void validate_count(const std::vector<int64_t>& numbers, int64_t expected, const char* what,
                    std::string_view source) {
  if (static_cast<int64_t>(numbers.size()) != expected) {
    throw_error("{}: {} {}, the first line announces {}", source, numbers.size(), what, expected);
  }
}

}  // namespace

Mask Mask::from_smtx(std::string_view text, std::string_view source) {
  const std::string_view header_line = take_line(text);
  const std::string_view row_line = take_line(text);
  const std::string_view column_line = take_line(text);
  const std::vector<int64_t> header = parse_numbers(header_line, 1, source);
  if (header.size() != 3) {
    throw_error("{}: line 1 has {} numbers, expected 3: rows, cols, nnz", source, header.size());
  }
  const MaskShape shape{header[0], header[1]};
  if (header[2] < 0) throw_error("{}: nnz is {}, expected 0 or more", source, header[2]);
  try {
    validate_shape(shape);
    const std::vector<int64_t> row_begin = parse_numbers(row_line, 2, source);
    const std::vector<int64_t> columns = parse_numbers(column_line, 3, source);
    validate_count(row_begin, shape.rows() + 1, "row offsets", source);
    validate_count(columns, header[2], "column indices", source);
    const size_t more = text.find_first_not_of(" \t\r\n");
    if (more != std::string_view::npos) {
      const std::string_view word = text.substr(more, 20);
      throw_error("{}: line {}: \"{}\" follows the column indices, expected three lines", source,
                  4 + std::count(text.begin(), text.begin() + static_cast<int64_t>(more), '\n'),
                  word.substr(0, word.find_first_of(" \t\r\n")));
    }
    return from_csr(row_begin, columns, shape);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.rfind("mask: ", 0) == 0) throw_error("{}: {}", source, message.substr(6));
    throw;
  }
}

Mask Mask::load_smtx(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_error("{}: cannot be opened: {}", path, std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad() || text.fail()) throw_error("{}: cannot be read as an .smtx file", path);
  return from_smtx(text.str(), path);
}

std::string Mask::to_smtx() const {
  return fmt::format("{}, {}, {}\n{}\n{}\n", rows(), cols(), nnz(), fmt::join(row_begin(), " "),
                     fmt::join(columns(), " "));
}

}  // namespace sparsejit
