// IDX: the file format of MNIST and its descendants.
//
//     00 00 08 rank | rank big-endian 32-bit sizes | one unsigned byte per element
//
// Images have rank 3 (count, rows, columns; magic 0x00000803), labels rank 1 (0x00000801). Files
// may be gzip-compressed. One parser serves files and the embedded data.
//
// Errors: every malformed input throws Error with one sentence that names the file, the value
// seen and what was expected. Memory grows with the bytes that were really read, never by what a
// header claims.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sparsejit::frontend {

struct IdxImages {
  int64_t count = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<uint8_t> pixels;  // count*rows*cols, image by image, row by row
};

// `name` is what error messages call the input. The result has at least one image and pixel.
IdxImages parse_idx_images(std::vector<uint8_t> bytes, const std::string& name);
std::vector<uint8_t> parse_idx_labels(std::vector<uint8_t> bytes, const std::string& name);

// The content of a file, decompressed if it is gzip, cut short once it is longer than its own IDX
// header allows (the parser then reports the excess).
std::vector<uint8_t> read_idx_file(const std::string& path);

}  // namespace sparsejit::frontend
