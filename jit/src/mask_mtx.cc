// .mtx: the coordinate text format of Matrix Market.
//
//     %%MatrixMarket matrix coordinate real general
//     % comments and blank lines are skipped
//     4 6 5              rows, cols, entries
//     1 1 0.25           row and column from 1, and the value unless the field is `pattern`
//     4 3 -1
//
// Values must be numbers, but do not matter: what is listed is stored. Entries are collected as
// they come, then sorted; only then are they a mask, so nothing is allocated for announced ones.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "mask_builder.h"
#include "mask_text.h"
#include "sparsejit/mask_files.h"

namespace sparsejit {
namespace {

enum class Field { pattern, real, integer };

// The text with the number of the line last taken off.
struct MtxText {
  std::string_view rest;
  std::string_view source;
  int64_t line = 0;

  // The next line that is neither blank nor a comment; empty at the end.
  std::string_view take_content() {
    while (!rest.empty()) {
      const std::string_view content = take_line(rest);
      ++line;
      const size_t first = content.find_first_not_of(" \t\r");
      if (first != std::string_view::npos && content[first] != '%') return content;
    }
    return {};
  }
};

std::string lower_case(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Field parse_banner(MtxText& text) {
  std::string_view banner = take_line(text.rest);
  ++text.line;
  const auto expect = [&](std::initializer_list<std::string_view> accepted) {
    const std::string_view word = take_word(banner);
    const auto found = std::find(accepted.begin(), accepted.end(), lower_case(word));
    if (found == accepted.end()) {
      throw_error("{}: line 1 has {}, expected {}", text.source, quoted(word),
                  fmt::join(accepted, " or "));
    }
    return found - accepted.begin();
  };
  expect({"%%matrixmarket"});
  expect({"matrix"});
  expect({"coordinate"});
  const auto field = static_cast<Field>(expect({"pattern", "real", "integer"}));
  expect({"general"});
  expect({""});
  return field;
}

// The value itself may be too small or large for a double: it is not kept.
void validate_value(std::string_view word, Field field, const MtxText& text) {
  if (field == Field::integer) {
    parse_whole(word, text.line, text.source);
    return;
  }
  double value = 0;
  const char* end = word.data() + word.size();
  const std::string_view digits = word.substr(word.starts_with('+') ? 1 : 0);
  const auto [next, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || next != end) {
    throw_error("{}: line {}: {} is not a number", text.source, text.line, quoted(word));
  }
}

int64_t parse_index(std::string_view word, const char* what, int64_t size, const MtxText& text) {
  const int64_t index = parse_whole(word, text.line, text.source);
  if (index < 1 || index > size) {
    throw_error("{}: line {}: {} {}, expected 1 to {}", text.source, text.line, what, index, size);
  }
  return index - 1;
}

void validate_end(std::string_view line, const char* what, const MtxText& text) {
  const std::string_view word = take_word(line);
  if (!word.empty()) {
    throw_error("{}: line {}: {} follows {}", text.source, text.line, quoted(word), what);
  }
}

// Positions row * cols + column, in the file's order.
std::vector<int64_t> parse_entries(MtxText& text, Field field, const MaskShape& shape,
                                   int64_t announced) {
  std::vector<int64_t> positions;
  while (true) {
    std::string_view line = text.take_content();
    if (line.empty()) break;
    const int64_t row = parse_index(take_word(line), "row", shape.rows(), text);
    const int64_t column = parse_index(take_word(line), "column", shape.cols(), text);
    if (field != Field::pattern) validate_value(take_word(line), field, text);
    validate_end(line, "an entry", text);
    positions.push_back(row * shape.cols() + column);
  }
  if (static_cast<int64_t>(positions.size()) != announced) {
    throw_error("{}: {} entries, the size line announces {}", text.source, positions.size(),
                announced);
  }
  return positions;
}

Mask build_mask(std::vector<int64_t> positions, const MaskShape& shape, std::string_view source) {
  std::sort(positions.begin(), positions.end());
  const auto twice = std::adjacent_find(positions.begin(), positions.end());
  if (twice != positions.end()) {
    throw_error("{}: entry ({}, {}) is listed twice, expected once", source,
                *twice / shape.cols() + 1, *twice % shape.cols() + 1);
  }
  MaskBuilder builder(shape);
  auto next = positions.begin();
  for (int64_t row = 0; row < shape.rows(); ++row) {
    for (; next != positions.end() && *next / shape.cols() == row; ++next) {
      builder.add(*next % shape.cols());
    }
    builder.end_row();
  }
  return builder.finish();
}

}  // namespace

Mask parse_mtx_mask(std::string_view bytes, std::string_view source) {
  MtxText text{.rest = bytes, .source = source};
  const Field field = parse_banner(text);
  std::string_view line = text.take_content();
  if (line.empty()) throw_error("{}: no size line, expected rows, cols, entries", source);
  const auto take_size = [&] { return parse_whole(take_word(line), text.line, source); };
  const int64_t rows = take_size();
  const MaskShape shape{rows, take_size()};
  const int64_t announced = take_size();
  validate_end(line, "the sizes", text);
  return name_source(source, [&] {
    validate_shape(shape);
    validate_row_count(shape.rows(), bytes.size(), source);
    return build_mask(parse_entries(text, field, shape, announced), shape, source);
  });
}

Mask load_mtx_mask(const std::string& path) {
  return parse_mtx_mask(read_file(path, "an .mtx"), path);
}

}  // namespace sparsejit
