// Mask: which weights of a layer are stored. Pattern only, no values.
//
// A mask is immutable and cheap to copy (shared storage). Rows are output units or channels. Stored
// weights are numbered in row-major order of the mask; that number is the weight's *value index*,
// so an array of values is exactly `weight[mask]` in NumPy or PyTorch.
//
//     dense 0/1          row_begin      columns
//     [ 1 0 1 ]          0 2 3          0 2 | 1          value indices: 0 1 | 2
//     [ 0 1 0 ]
//
// The mask is data of its own and is never guessed from values later: a stored weight may be 0.0.
// All constructors validate everything and throw Error naming the entry. Thread-safe: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sparsejit {

// 128-bit content hash. It only finds the bucket; equality of content decides.
struct MaskHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const MaskHash&) const = default;
};

// Shape of a weight, in PyTorch's order. Linear: {out, in}. Convolution: {out channels, input
// channels of one group, kernel height, kernel width}; a row of the mask is one output channel with
// its columns ordered (input channel, kernel row, kernel column).
struct MaskShape {
  int64_t out = 0;
  int64_t in = 0;
  int64_t kernel_h = 1;
  int64_t kernel_w = 1;
  int64_t rows() const { return out; }
  int64_t cols() const { return in * kernel_h * kernel_w; }
  bool operator==(const MaskShape&) const = default;
};

// "3072x768", "256x128x3x3"
std::string to_text(const MaskShape& shape);

class Mask {
 public:
  // The empty 0x0 mask; useful only as a placeholder to assign to.
  Mask();

  // `dense` has rows*cols entries in row-major order, each 0 or 1.
  static Mask from_dense(std::span<const uint8_t> dense, MaskShape shape);
  // Stores exactly the entries that compare unequal to 0 (NaN is stored; -0.0 is not).
  static Mask from_nonzeros(std::span<const float> weight, MaskShape shape);
  // row_begin has rows+1 offsets; columns are strictly increasing inside each row.
  static Mask from_csr(std::span<const int64_t> row_begin, std::span<const int64_t> columns,
                       MaskShape shape);
  // Text of an .smtx file: "rows, cols, nnz", then row offsets, then column indices.
  // `source` names the text in error messages.
  static Mask from_smtx(std::string_view text, std::string_view source = "smtx text");
  static Mask load_smtx(const std::string& path);
  // The same stored weights with another meaning of rows and columns: `shape` has as many of both.
  Mask reshaped(const MaskShape& shape) const;
  // A convolution's mask from a matrix whose columns are ordered (kernel row, kernel column, input
  // channel), as .smtx files of convolutions are: column = (kh * kernel_w + kw) * in + channel.
  static Mask from_channels_last(const Mask& matrix, const MaskShape& shape);
  // Exactly round((1-sparsity)*rows*cols) entries, every choice equally likely; the same seed
  // gives the same mask on every machine. 0 <= sparsity <= 1.
  static Mask random(MaskShape shape, double sparsity, uint64_t seed);

  int64_t rows() const;
  int64_t cols() const;  // in * kernel_h * kernel_w
  const MaskShape& shape() const;
  int64_t nnz() const;
  double sparsity() const;  // share of entries not stored, 0 for an empty shape

  std::span<const int64_t> row_begin() const;  // rows+1 offsets into columns()
  std::span<const int32_t> columns() const;    // nnz column indices

  const MaskHash& hash() const;
  bool operator==(const Mask& other) const;  // content: shape and every stored position
  std::string to_smtx() const;

 private:
  struct Data;
  explicit Mask(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  friend class MaskBuilder;
  std::shared_ptr<const Data> data_;
};

// "1f3a..." (16 hexadecimal digits), for symbol names and reports.
std::string short_name(const MaskHash& hash);

}  // namespace sparsejit
