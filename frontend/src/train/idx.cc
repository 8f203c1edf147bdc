// The IDX parser and the file reader; see idx.h. zlib reads plain and compressed files alike, in
// pieces, and reading stops as soon as a file holds more than its own header announces.
#include "train/idx.h"

#include <zlib.h>

#include <filesystem>
#include <memory>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;
constexpr size_t kReadBytes = size_t{1} << 16;

size_t header_bytes(int rank) { return 4 + 4 * static_cast<size_t>(rank); }

uint32_t big_endian(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         uint32_t{bytes[at + 3]};
}

// The number of elements an IDX header announces, saturated at UINT64_MAX.
uint64_t announced_elements(std::span<const uint8_t> bytes, int rank) {
  uint64_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    const uint64_t size = big_endian(bytes, header_bytes(i));
    if (__builtin_mul_overflow(elements, size, &elements)) return UINT64_MAX;
  }
  return elements;
}

// Checks magic, sizes and length; returns the sizes and removes the header from `bytes`.
std::vector<int64_t> take_header(std::vector<uint8_t>& bytes, uint32_t magic,
                                 const std::string& name) {
  const int rank = static_cast<int>(magic & 0xFF);
  const size_t header = header_bytes(rank);
  if (bytes.size() >= header_bytes(0)) {
    const uint32_t seen = big_endian(bytes, 0);
    if (seen != magic) {
      throw_error("{}: magic number 0x{:08x}; expected 0x{:08x} (unsigned bytes, {})", name, seen,
                  magic, rank == 1 ? "labels" : "images");
    }
  }
  if (bytes.size() < header) {
    throw_error("{}: {} bytes; expected at least the {} of an IDX header", name, bytes.size(),
                header);
  }
  std::vector<int64_t> sizes(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) sizes[static_cast<size_t>(i)] = big_endian(bytes, header_bytes(i));
  const uint64_t elements = announced_elements(bytes, rank);
  if (elements == 0) {
    throw_error("{}: sizes {}; expected each to be at least 1", name, fmt::join(sizes, " x "));
  }
  const uint64_t payload = bytes.size() - header;
  if (payload != elements) {
    throw_error("{}: {} {} bytes after the header; expected {}, the sizes it names", name,
                payload > elements ? "at least" : "only", payload, fmt::join(sizes, " x "));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return sizes;
}

// True when `bytes` already holds more than its own header announces: no need to read on.
bool exceeds_header(std::span<const uint8_t> bytes) {
  if (bytes.size() < 4) return false;
  const int rank = bytes[3];
  const size_t header = header_bytes(rank);
  return bytes.size() > header && bytes.size() - header > announced_elements(bytes, rank);
}

[[noreturn]] void throw_read_error(gzFile file, const std::string& path, size_t bytes) {
  int code = Z_OK;
  const char* reason = gzerror(file, &code);
  throw_error("{}: reading failed after {} bytes ({}); expected a complete IDX file", path, bytes,
              code == Z_BUF_ERROR ? "the compressed data is truncated" : reason);
}

}  // namespace

IdxImages parse_idx_images(std::vector<uint8_t> bytes, const std::string& name) {
  const std::vector<int64_t> sizes = take_header(bytes, kImagesMagic, name);
  return {sizes[0], sizes[1], sizes[2], std::move(bytes)};
}

std::vector<uint8_t> parse_idx_labels(std::vector<uint8_t> bytes, const std::string& name) {
  take_header(bytes, kLabelsMagic, name);
  return bytes;
}

std::vector<uint8_t> read_idx_file(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) {
    throw_error("{}: expected a regular file", path);
  }
  struct Closer {
    void operator()(gzFile file) const { gzclose(file); }
  };
  const std::unique_ptr<gzFile_s, Closer> file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) throw_error("{}: cannot be opened; expected a readable IDX file", path);
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> buffer(kReadBytes);
  while (!exceeds_header(bytes)) {
    const int read = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (read < 0) throw_read_error(file.get(), path, bytes.size());
    if (read == 0) break;
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + read);
  }
  int code = Z_OK;
  gzerror(file.get(), &code);
  if (code != Z_OK) throw_read_error(file.get(), path, bytes.size());
  return bytes;
}

}  // namespace sparsejit::frontend
