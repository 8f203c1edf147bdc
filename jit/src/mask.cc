// Mask storage, hashing and the constructors that take arrays. Text formats: mask_smtx.cc.
#include "sparsejit/mask.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <random>

#include "mask_builder.h"
#include "sparsejit/error.h"

namespace sparsejit {

struct Mask::Data {
  MaskShape shape;
  std::vector<int64_t> row_begin{0};
  std::vector<int32_t> columns;
  MaskHash hash;
};

namespace {

// The shape goes in first: the same bits as 4x8 and as 8x4 are different masks.
MaskHash hash_pattern(MaskShape shape, const std::vector<int64_t>& row_begin,
                      const std::vector<int32_t>& columns) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, &shape, sizeof(shape));
  XXH3_128bits_update(&state, row_begin.data(), row_begin.size() * sizeof(row_begin[0]));
  XXH3_128bits_update(&state, columns.data(), columns.size() * sizeof(columns[0]));
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  return {digest.low64, digest.high64};
}

void validate_length(size_t length, MaskShape shape, const char* what) {
  const int64_t expected = shape.rows() * shape.cols();
  if (static_cast<int64_t>(length) != expected) {
    throw_error("mask: {} has {} entries, a {} mask needs {}", what, length, to_text(shape),
                expected);
  }
}

void validate_nnz(int64_t nnz) {
  if (nnz > std::numeric_limits<int32_t>::max()) {
    throw_error("mask: {} stored weights, expected at most 2^31-1", nnz);
  }
}

void validate_row_begin(std::span<const int64_t> row_begin, size_t nnz, MaskShape shape) {
  if (static_cast<int64_t>(row_begin.size()) != shape.rows() + 1) {
    throw_error("mask: {} row offsets for {} rows, expected {}", row_begin.size(), shape.rows(),
                shape.rows() + 1);
  }
  if (row_begin[0] != 0) throw_error("mask: row offset 0 is {}, expected 0", row_begin[0]);
  for (int64_t r = 0; r < shape.rows(); ++r) {
    if (row_begin[r + 1] < row_begin[r]) {
      throw_error("mask: row offset {} is {}, less than the one before it, {}", r + 1,
                  row_begin[r + 1], row_begin[r]);
    }
  }
  if (row_begin[shape.rows()] != static_cast<int64_t>(nnz)) {
    throw_error("mask: the last row offset is {}, but there are {} column indices",
                row_begin[shape.rows()], nnz);
  }
}

void validate_row(std::span<const int64_t> columns, int64_t row, int64_t cols) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0 || columns[i] >= cols) {
      throw_error("mask: row {} has column {}, expected 0 to {}", row, columns[i], cols - 1);
    }
    if (i > 0 && columns[i] <= columns[i - 1]) {
      throw_error("mask: row {} has column {} after {}, expected strictly increasing columns", row,
                  columns[i], columns[i - 1]);
    }
  }
}

}  // namespace

std::string to_text(const MaskShape& shape) {
  if (shape.kernel_h == 1 && shape.kernel_w == 1) return fmt::format("{}x{}", shape.out, shape.in);
  return fmt::format("{}x{}x{}x{}", shape.out, shape.in, shape.kernel_h, shape.kernel_w);
}

void validate_shape(MaskShape shape) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const auto outside = [](int64_t size) { return size < 0 || size > kMax; };
  // Each product is formed of factors below 2^31, so none overflows.
  if (outside(shape.out) || outside(shape.in) || outside(shape.kernel_h) ||
      outside(shape.kernel_w) || outside(shape.in * shape.kernel_h) || outside(shape.cols())) {
    throw_error("mask: shape {}x{}x{}x{}, expected rows, and columns (in x kernel), from 0 to {}",
                shape.out, shape.in, shape.kernel_h, shape.kernel_w, kMax);
  }
}

MaskBuilder::MaskBuilder(MaskShape shape) : shape_(shape) { validate_shape(shape); }

Mask MaskBuilder::finish() {
  SPARSEJIT_CHECK(static_cast<int64_t>(row_begin_.size()), ==, shape_.rows() + 1);
  validate_nnz(static_cast<int64_t>(columns_.size()));
  auto data = std::make_shared<Mask::Data>();
  data->shape = shape_;
  data->hash = hash_pattern(shape_, row_begin_, columns_);
  data->row_begin = std::move(row_begin_);
  data->columns = std::move(columns_);
  return Mask(std::move(data));
}

Mask::Mask() {
  static const std::shared_ptr<const Data> empty = std::make_shared<Data>();
  data_ = empty;
}

Mask Mask::from_dense(std::span<const uint8_t> dense, MaskShape shape) {
  MaskBuilder builder(shape);
  validate_length(dense.size(), shape, "the dense array");
  for (int64_t r = 0, i = 0; r < shape.rows(); ++r) {
    for (int64_t c = 0; c < shape.cols(); ++c, ++i) {
      if (dense[i] > 1) {
        throw_error("mask: entry ({}, {}) is {}, expected 0 or 1", r, c, dense[i]);
      }
      if (dense[i] == 1) builder.add(c);
    }
    builder.end_row();
  }
  return builder.finish();
}

Mask Mask::from_nonzeros(std::span<const float> weight, MaskShape shape) {
  MaskBuilder builder(shape);
  validate_length(weight.size(), shape, "the weight array");
  for (int64_t r = 0, i = 0; r < shape.rows(); ++r) {
    for (int64_t c = 0; c < shape.cols(); ++c, ++i) {
      if (weight[i] != 0.0F) builder.add(c);
    }
    builder.end_row();
  }
  return builder.finish();
}

Mask Mask::from_csr(std::span<const int64_t> row_begin, std::span<const int64_t> columns,
                    MaskShape shape) {
  MaskBuilder builder(shape);
  validate_row_begin(row_begin, columns.size(), shape);
  for (int64_t r = 0; r < shape.rows(); ++r) {
    const auto row = columns.subspan(row_begin[r], row_begin[r + 1] - row_begin[r]);
    validate_row(row, r, shape.cols());
    for (const int64_t column : row) builder.add(column);
    builder.end_row();
  }
  return builder.finish();
}

Mask Mask::reshaped(const MaskShape& shape) const {
  validate_shape(shape);
  if (shape.rows() != rows() || shape.cols() != cols()) {
    throw_error("mask: cannot be reshaped from {} to {}, expected the same rows and columns",
                sparsejit::to_text(this->shape()), sparsejit::to_text(shape));
  }
  MaskBuilder builder(shape);
  for (int64_t r = 0; r < rows(); ++r) {
    for (int64_t i = row_begin()[r]; i < row_begin()[r + 1]; ++i) builder.add(columns()[i]);
    builder.end_row();
  }
  return builder.finish();
}

Mask Mask::from_channels_last(const Mask& matrix, const MaskShape& shape) {
  const Mask wanted = matrix.reshaped(shape);
  const int64_t kernel = shape.kernel_h * shape.kernel_w;
  MaskBuilder builder(shape);
  std::vector<int64_t> row;
  for (int64_t r = 0; r < wanted.rows(); ++r) {
    row.clear();
    for (int64_t i = wanted.row_begin()[r]; i < wanted.row_begin()[r + 1]; ++i) {
      const int64_t column = wanted.columns()[i];
      row.push_back(column % shape.in * kernel + column / shape.in);
    }
    std::sort(row.begin(), row.end());
    for (const int64_t column : row) builder.add(column);
    builder.end_row();
  }
  return builder.finish();
}

// Selection sampling: entry i is taken with probability (still wanted) / (still to come).
Mask Mask::random(MaskShape shape, double sparsity, uint64_t seed) {
  MaskBuilder builder(shape);
  if (!(sparsity >= 0.0 && sparsity <= 1.0)) {
    throw_error("mask: sparsity {}, expected a number from 0 to 1", sparsity);
  }
  std::mt19937_64 generator(seed);
  const int64_t total = shape.rows() * shape.cols();
  int64_t wanted = std::llround((1.0 - sparsity) * static_cast<double>(total));
  validate_nnz(wanted);
  for (int64_t r = 0, i = 0; r < shape.rows(); ++r) {
    for (int64_t c = 0; c < shape.cols(); ++c, ++i) {
      const double uniform = static_cast<double>(generator() >> 11) * 0x1p-53;
      if (uniform * static_cast<double>(total - i) < static_cast<double>(wanted)) {
        builder.add(c);
        --wanted;
      }
    }
    builder.end_row();
  }
  return builder.finish();
}

int64_t Mask::rows() const { return data_->shape.rows(); }
int64_t Mask::cols() const { return data_->shape.cols(); }
const MaskShape& Mask::shape() const { return data_->shape; }
int64_t Mask::nnz() const { return static_cast<int64_t>(data_->columns.size()); }
std::span<const int64_t> Mask::row_begin() const { return data_->row_begin; }
std::span<const int32_t> Mask::columns() const { return data_->columns; }
const MaskHash& Mask::hash() const { return data_->hash; }

double Mask::sparsity() const {
  const double total = static_cast<double>(rows()) * static_cast<double>(cols());
  return total == 0 ? 0.0 : 1.0 - static_cast<double>(nnz()) / total;
}

bool Mask::operator==(const Mask& other) const {
  if (data_ == other.data_) return true;
  return data_->hash == other.data_->hash && data_->shape == other.data_->shape &&
         data_->row_begin == other.data_->row_begin && data_->columns == other.data_->columns;
}

std::string short_name(const MaskHash& hash) { return fmt::format("{:016x}", hash.low); }

}  // namespace sparsejit
