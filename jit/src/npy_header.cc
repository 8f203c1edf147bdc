// See npy_header.h. Read take_npy_header first; HeaderReader is a cursor over the literal.
#include "npy_header.h"

#include <algorithm>
#include <charconv>

#include "mask_text.h"

namespace sparsejit {
namespace {

class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view source) : rest_(text), source_(source) {}

  NpyHeader read() {
    NpyHeader header;
    expect('{');
    while (!accept('}')) {
      read_entry(header);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) fail("the end of the header");
    return header;
  }

 private:
  void read_entry(NpyHeader& header) {
    const std::string_view key = read_string();
    expect(':');
    if (key == "descr" && !header.type) {
      header.type = read_string();
    } else if (key == "fortran_order" && !header.fortran_order) {
      header.fortran_order = read_bool();
    } else if (key == "shape" && !header.shape) {
      header.shape = read_shape();
    } else {
      throw_error("{}: header key {}, expected descr, fortran_order and shape, each once", source_,
                  quoted(key));
    }
  }

  std::string_view read_string() {
    skip_blanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) fail("a string");
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) fail("a string that ends");
    const std::string_view value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return value;
  }

  bool read_bool() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fail("True or False");
  }

  std::vector<int64_t> read_shape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      int64_t size = 0;
      const auto [next, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc{}) fail("a dimension of the shape");
      rest_.remove_prefix(static_cast<size_t>(next - rest_.data()));
      shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool accept(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(quoted({&c, 1}));
  }
  [[noreturn]] void fail(std::string_view expected) const {
    throw_error("{}: header has {}, expected {}", source_, quoted(rest_), expected);
  }

  std::string_view rest_;
  std::string_view source_;
};

// Takes magic, version and header off the bytes; returns the literal.
std::string_view take_literal(std::string_view& bytes, std::string_view source) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic)) {
    throw_error("{}: begins with {}, expected {}", source, quoted(bytes.substr(0, kMagic.size())),
                quoted(kMagic));
  }
  const auto byte_at = [&](size_t at) -> size_t {
    if (at >= bytes.size()) {
      throw_error("{}: {} bytes, expected a header", source, bytes.size());
    }
    return static_cast<unsigned char>(bytes[at]);
  };
  const size_t version = byte_at(6);
  if (version < 1 || version > 3 || byte_at(7) != 0) {
    throw_error("{}: format version {}.{}, expected 1.0, 2.0 or 3.0", source, version, byte_at(7));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | byte_at(8 + i);
  const size_t begin = 8 + length_bytes;
  if (length > bytes.size() - begin) {
    throw_error("{}: header of {} bytes, but {} follow", source, length, bytes.size() - begin);
  }
  const std::string_view header = bytes.substr(begin, length);
  bytes.remove_prefix(begin + length);
  return header;
}

}  // namespace

NpyHeader take_npy_header(std::string_view& bytes, std::string_view source) {
  NpyHeader header = HeaderReader(take_literal(bytes, source), source).read();
  if (!header.type || !header.fortran_order || !header.shape) {
    throw_error("{}: header without {}, expected descr, fortran_order and shape", source,
                !header.type ? "descr" : (!header.shape ? "shape" : "fortran_order"));
  }
  return header;
}

}  // namespace sparsejit
