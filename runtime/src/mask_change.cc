// How value indices move between two masks.
#include <numeric>

#include "sparsejit/error.h"
#include "sparsejit/layer.h"

namespace sparsejit {
namespace {

// The stored weights of one row.
struct Row {
  Row(const Mask& mask, int64_t row)
      : first(mask.row_begin()[row]),
        columns(mask.columns().subspan(static_cast<size_t>(first),
                                       static_cast<size_t>(mask.row_begin()[row + 1] - first))) {}

  int64_t first;  // value index
  std::span<const int32_t> columns;
};

// Walks two rows of increasing columns side by side.
void compare_row(const Row& before, const Row& now, MaskChange& change) {
  size_t at = 0;
  int64_t* old_index = change.old_index.data() + now.first;
  for (const int32_t column : now.columns) {
    while (at < before.columns.size() && before.columns[at] < column) ++at;
    const bool kept = at < before.columns.size() && before.columns[at] == column;
    *old_index++ = kept ? before.first + static_cast<int64_t>(at) : -1;
    change.kept += kept ? 1 : 0;
  }
}

}  // namespace

MaskChange compare_masks(const Mask& old_mask, const Mask& new_mask) {
  if (old_mask.shape() != new_mask.shape()) {
    throw_error("mask: the new mask is {}x{}, expected {}x{} like the old one", new_mask.rows(),
                new_mask.cols(), old_mask.rows(), old_mask.cols());
  }
  MaskChange change;
  change.old_index.resize(new_mask.nnz());
  if (old_mask == new_mask) {
    std::iota(change.old_index.begin(), change.old_index.end(), 0);
    change.kept = new_mask.nnz();
    return change;
  }
  for (int64_t row = 0; row < new_mask.rows(); ++row) {
    compare_row({old_mask, row}, {new_mask, row}, change);
  }
  change.added = new_mask.nnz() - change.kept;
  change.removed = old_mask.nnz() - change.kept;
  return change;
}

std::vector<float> MaskChange::move(std::span<const float> old_values, float fresh) const {
  if (static_cast<int64_t>(old_values.size()) != kept + removed) {
    throw_error("mask change: {} old values, expected {}", old_values.size(), kept + removed);
  }
  std::vector<float> values(old_index.size(), fresh);
  for (size_t i = 0; i < values.size(); ++i) {
    if (old_index[i] >= 0) values[i] = old_values[old_index[i]];
  }
  return values;
}

}  // namespace sparsejit
