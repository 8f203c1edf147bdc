// .smtx: the text format of the Deep Learning Matrix Collection.
//
//     4, 6, 5            rows, cols, stored weights
//     0 2 2 3 5          rows+1 row offsets
//     0 4 1 2 5          column indices, strictly increasing inside each row
//
// Numbers may be separated by blanks or commas. No number in the header makes the parser allocate:
// arrays grow with the numbers that are really there.
#include <algorithm>
#include <vector>

#include "mask_builder.h"
#include "mask_text.h"

namespace sparsejit {
namespace {

std::vector<int64_t> parse_numbers(std::string_view line, int64_t number, std::string_view source) {
  std::vector<int64_t> numbers;
  while (true) {
    const std::string_view word = take_word(line, " \t\r,");
    if (word.empty()) return numbers;
    numbers.push_back(parse_whole(word, number, source));
  }
}

void validate_count(const std::vector<int64_t>& numbers, int64_t expected, const char* what,
                    std::string_view source) {
  if (static_cast<int64_t>(numbers.size()) != expected) {
    throw_error("{}: {} {}, the first line announces {}", source, numbers.size(), what, expected);
  }
}

void validate_end(std::string_view text, std::string_view source) {
  const size_t more = text.find_first_not_of(" \t\r\n");
  if (more == std::string_view::npos) return;
  const std::string_view rest = text.substr(more);
  throw_error("{}: line {}: {} follows the column indices, expected three lines", source,
              4 + std::count(text.begin(), text.begin() + static_cast<int64_t>(more), '\n'),
              quoted(rest.substr(0, rest.find_first_of(" \t\r\n"))));
}

// The other formats of masks begin with their names.
void validate_format(std::string_view text, std::string_view source) {
  if (text.starts_with("\x93NUMPY")) {
    throw_error("{}: is an .npy file, expected .smtx; load_npy_mask reads it", source);
  }
  if (text.starts_with("%%MatrixMarket")) {
    throw_error("{}: is an .mtx file, expected .smtx; load_mtx_mask reads it", source);
  }
}

}  // namespace

Mask Mask::from_smtx(std::string_view text, std::string_view source) {
  validate_format(text, source);
  const std::string_view header_line = take_line(text);
  const std::string_view row_line = take_line(text);
  const std::string_view column_line = take_line(text);
  const std::vector<int64_t> header = parse_numbers(header_line, 1, source);
  if (header.size() != 3) {
    throw_error("{}: line 1 has {} numbers, expected 3: rows, cols, nnz", source, header.size());
  }
  const MaskShape shape{header[0], header[1]};
  if (header[2] < 0) throw_error("{}: nnz is {}, expected 0 or more", source, header[2]);
  return name_source(source, [&] {
    validate_shape(shape);
    const std::vector<int64_t> row_begin = parse_numbers(row_line, 2, source);
    const std::vector<int64_t> columns = parse_numbers(column_line, 3, source);
    validate_count(row_begin, shape.rows() + 1, "row offsets", source);
    validate_count(columns, header[2], "column indices", source);
    validate_end(text, source);
    return from_csr(row_begin, columns, shape);
  });
}

Mask Mask::load_smtx(const std::string& path) {
  return from_smtx(read_file(path, "an .smtx"), path);
}

std::string Mask::to_smtx() const {
  return fmt::format("{}, {}, {}\n{}\n{}\n", rows(), cols(), nnz(), fmt::join(row_begin(), " "),
                     fmt::join(columns(), " "));
}

}  // namespace sparsejit
