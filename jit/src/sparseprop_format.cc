// Import checks every array first, then sorts the entries of each filter by position; see
// sparseprop_format.h. Read import_sparseprop first.
#include "sparsejit/sparseprop_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "mask_builder.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

void validate_length(const char* name, size_t length, int64_t expected) {
  if (static_cast<int64_t>(length) != expected) {
    throw_error("sparseprop: {} has {} entries, expected {}", name, length, expected);
  }
}

// `offsets` go from 0 to `end` without decreasing; entry i is called name[first + i].
void validate_offsets(const char* name, std::span<const int64_t> offsets, int64_t first,
                      int64_t end, const char* end_name) {
  if (offsets.front() != 0) {
    throw_error("sparseprop: {}[{}] is {}, expected 0", name, first, offsets.front());
  }
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      throw_error("sparseprop: {}[{}] is {}, expected at least the offset before it, {}", name,
                  first + static_cast<int64_t>(i), offsets[i], offsets[i - 1]);
    }
  }
  if (offsets.back() != end) {
    throw_error("sparseprop: {}[{}] is {}, expected {}, {}", name,
                first + static_cast<int64_t>(offsets.size()) - 1, offsets.back(), end, end_name);
  }
}

void validate_coordinates(const char* name, std::span<const int64_t> coordinates, int64_t size) {
  for (size_t i = 0; i < coordinates.size(); ++i) {
    if (coordinates[i] < 0 || coordinates[i] >= size) {
      throw_error("sparseprop: {}[{}] is {}, expected 0 to {}, inside the filter", name, i,
                  coordinates[i], size - 1);
    }
  }
}

std::span<const int64_t> filter_offsets(const SparsePropTensor& tensor, const MaskShape& shape,
                                        int64_t row) {
  const auto per_row = static_cast<size_t>(shape.in) + 1;
  return std::span(tensor.ich).subspan(static_cast<size_t>(row) * per_row, per_row);
}

void validate_tensor(const SparsePropTensor& tensor, const MaskShape& shape) {
  validate_shape(shape);
  const auto stored = static_cast<int64_t>(tensor.vals.size());
  validate_length("och", tensor.och.size(), shape.out + 1);
  validate_length("ich", tensor.ich.size(), shape.out * (shape.in + 1));
  validate_length("x", tensor.x.size(), stored);
  validate_length("y", tensor.y.size(), stored);
  validate_offsets("och", tensor.och, 0, stored, "the number of vals");
  for (int64_t row = 0; row < shape.out; ++row) {
    const auto at = static_cast<size_t>(row);
    validate_offsets("ich", filter_offsets(tensor, shape, row), row * (shape.in + 1),
                     tensor.och[at + 1] - tensor.och[at], "the entries of its output channel");
  }
  validate_coordinates("x", tensor.x, shape.kernel_h);
  validate_coordinates("y", tensor.y, shape.kernel_w);
}

// The entries of [begin, end), all of one filter, by position.
void sort_filter(const SparsePropTensor& tensor, std::span<int64_t> entries) {
  const auto position = [&](int64_t entry) {
    return std::pair(tensor.x[static_cast<size_t>(entry)], tensor.y[static_cast<size_t>(entry)]);
  };
  std::sort(entries.begin(), entries.end(), [&](int64_t left, int64_t right) {
    return std::pair(position(left), left) < std::pair(position(right), right);
  });
  const auto twice = std::adjacent_find(
      entries.begin(), entries.end(),
      [&](int64_t left, int64_t right) { return position(left) == position(right); });
  if (twice != entries.end()) {
    throw_error(
        "sparseprop: entries {} and {} are both ({}, {}) of the same filter, expected each weight "
        "once",
        *twice, *(twice + 1), position(*twice).first, position(*twice).second);
  }
}

// For each value index of the mask the entry it comes from.
std::vector<int64_t> order_entries(const SparsePropTensor& tensor, const MaskShape& shape) {
  std::vector<int64_t> order(tensor.vals.size());
  std::iota(order.begin(), order.end(), 0);
  for (int64_t row = 0; row < shape.out; ++row) {
    const std::span<const int64_t> offsets = filter_offsets(tensor, shape, row);
    const auto first = static_cast<size_t>(tensor.och[static_cast<size_t>(row)]);
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      sort_filter(tensor,
                  std::span(order).subspan(first + static_cast<size_t>(offsets[i]),
                                           static_cast<size_t>(offsets[i + 1] - offsets[i])));
    }
  }
  return order;
}

}  // namespace

MaskAndValues import_sparseprop(const SparsePropTensor& tensor, const MaskShape& shape) {
  validate_tensor(tensor, shape);
  const std::vector<int64_t> order = order_entries(tensor, shape);
  MaskAndValues result;
  result.values.reserve(order.size());
  MaskBuilder builder(shape);
  for (int64_t row = 0; row < shape.out; ++row) {
    const std::span<const int64_t> offsets = filter_offsets(tensor, shape, row);
    const auto first = static_cast<size_t>(tensor.och[static_cast<size_t>(row)]);
    for (int64_t in = 0; in < shape.in; ++in) {
      const auto filter = static_cast<size_t>(in);
      const size_t end = first + static_cast<size_t>(offsets[filter + 1]);
      for (size_t i = first + static_cast<size_t>(offsets[filter]); i < end; ++i) {
        const auto entry = static_cast<size_t>(order[i]);
        builder.add((in * shape.kernel_h + tensor.x[entry]) * shape.kernel_w + tensor.y[entry]);
        result.values.push_back(tensor.vals[entry]);
      }
    }
    builder.end_row();
  }
  result.mask = builder.finish();
  return result;
}

SparsePropTensor export_sparseprop(const Mask& mask, std::span<const float> values) {
  validate_length("values", values.size(), mask.nnz());
  const MaskShape& shape = mask.shape();
  const int64_t positions = shape.kernel_h * shape.kernel_w;
  SparsePropTensor tensor;
  tensor.och.assign(mask.row_begin().begin(), mask.row_begin().end());
  tensor.vals.assign(values.begin(), values.end());
  for (int64_t row = 0; row < shape.out; ++row) {
    const int64_t begin = mask.row_begin()[static_cast<size_t>(row)];
    const int64_t end = mask.row_begin()[static_cast<size_t>(row) + 1];
    int64_t entry = begin;
    tensor.ich.push_back(0);
    for (int64_t in = 0; in < shape.in; ++in) {
      for (; entry < end && mask.columns()[static_cast<size_t>(entry)] / positions == in; ++entry) {
        const int64_t position = mask.columns()[static_cast<size_t>(entry)] % positions;
        tensor.x.push_back(position / shape.kernel_w);
        tensor.y.push_back(position % shape.kernel_w);
      }
      tensor.ich.push_back(entry - begin);
    }
  }
  return tensor;
}

}  // namespace sparsejit
