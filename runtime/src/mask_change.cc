// How value indices move between two masks.
#include "sparsejit/error.h"
#include "sparsejit/layer.h"

namespace sparsejit {
namespace {

// Walks two rows of increasing columns side by side.
void compare_row(const Mask& old_mask, const Mask& new_mask, int64_t row, MaskChange& change) {
  int64_t old_at = old_mask.row_begin()[row];
  const int64_t old_end = old_mask.row_begin()[row + 1];
  for (int64_t i = new_mask.row_begin()[row]; i < new_mask.row_begin()[row + 1]; ++i) {
    const int32_t column = new_mask.columns()[i];
    while (old_at < old_end && old_mask.columns()[old_at] < column) ++old_at;
    const bool kept = old_at < old_end && old_mask.columns()[old_at] == column;
    change.old_index[i] = kept ? old_at : -1;
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
  for (int64_t row = 0; row < new_mask.rows(); ++row) compare_row(old_mask, new_mask, row, change);
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
