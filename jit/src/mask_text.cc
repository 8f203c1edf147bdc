// See mask_text.h.
#include "mask_text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace sparsejit {

std::string read_file(const std::string& path, std::string_view kind) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_error("{}: cannot be opened: {}", path, std::strerror(errno));
  if (file.peek() == std::ifstream::traits_type::eof()) {
    throw_error("{}: is empty or cannot be read, expected {} file", path, kind);
  }
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad() || text.fail()) throw_error("{}: cannot be read as {} file", path, kind);
  return text.str();
}

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

std::string_view take_word(std::string_view& line, std::string_view separators) {
  line.remove_prefix(std::min(line.find_first_not_of(separators), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(separators));
  line.remove_prefix(word.size());
  return word;
}

std::string quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word.substr(0, 20)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text + '"';
}

int64_t parse_whole(std::string_view word, int64_t line, std::string_view source) {
  int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || next != end) {
    throw_error("{}: line {}: {} is not a whole number", source, line, quoted(word));
  }
  return value;
}

void validate_row_count(int64_t rows, size_t bytes, std::string_view source) {
  const int64_t most = std::max<int64_t>(1 << 16, static_cast<int64_t>(bytes));
  if (rows > most) {
    throw_error("{}: {} rows in {} bytes, expected at most {} in a file of this size", source, rows,
                bytes, most);
  }
}

}  // namespace sparsejit
