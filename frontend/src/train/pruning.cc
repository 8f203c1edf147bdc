// Selecting weights to drop and positions to grow; see pruning.h. Lists of positions are kept in
// ascending order throughout, which is the order value indices have.
#include "train/pruning.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <vector>

#include "sparsejit/error.h"
#include "train/random.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kDropped = -1;

// Orders like |value| and is total: NaN comes after infinity.
uint32_t magnitude_key(float value) { return std::bit_cast<uint32_t>(value) & 0x7FFFFFFF; }

std::vector<int64_t> stored_positions(const Mask& mask) {
  std::vector<int64_t> positions;
  positions.reserve(static_cast<size_t>(mask.nnz()));
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const auto begin = static_cast<size_t>(mask.row_begin()[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(mask.row_begin()[static_cast<size_t>(row) + 1]);
    for (size_t i = begin; i < end; ++i) {
      positions.push_back(row * mask.cols() + mask.columns()[i]);
    }
  }
  return positions;
}

// `positions` ascending and distinct.
Mask mask_from_positions(const std::vector<int64_t>& positions, MaskShape shape) {
  std::vector<int64_t> row_begin(static_cast<size_t>(shape.rows()) + 1, 0);
  std::vector<int64_t> columns;
  columns.reserve(positions.size());
  for (const int64_t position : positions) {
    ++row_begin[static_cast<size_t>(position / shape.cols()) + 1];
    columns.push_back(position % shape.cols());
  }
  for (size_t row = 1; row < row_begin.size(); ++row) row_begin[row] += row_begin[row - 1];
  return Mask::from_csr(row_begin, columns, shape);
}

// Calls visit(position) for every position that is not in the ascending list `stored`.
template <typename Visit>
void for_each_free(const std::vector<int64_t>& stored, int64_t positions, Visit visit) {
  int64_t position = 0;
  for (const int64_t next : stored) {
    for (; position < next; ++position) visit(position);
    position = next + 1;
  }
  for (; position < positions; ++position) visit(position);
}

// The positions of `mask` that survive when the `dropped` smallest weights go, ascending.
std::vector<int64_t> keep_largest(const Mask& mask, std::span<const float> values,
                                  int64_t dropped) {
  SPARSEJIT_CHECK(static_cast<int64_t>(values.size()), ==, mask.nnz());
  SPARSEJIT_CHECK(dropped, <=, mask.nnz());
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto cut = order.begin() + static_cast<std::ptrdiff_t>(dropped);
  std::nth_element(order.begin(), cut, order.end(), [&](size_t left, size_t right) {
    const uint32_t a = magnitude_key(values[left]);
    const uint32_t b = magnitude_key(values[right]);
    return a != b ? a < b : left < right;
  });
  std::vector<int64_t> positions = stored_positions(mask);
  for (auto index = order.begin(); index != cut; ++index) positions[*index] = kDropped;
  std::erase(positions, kDropped);
  return positions;
}

struct Candidate {
  uint32_t magnitude = 0;
  int64_t position = 0;
};

bool is_better(const Candidate& left, const Candidate& right) {
  return left.magnitude != right.magnitude ? left.magnitude > right.magnitude
                                           : left.position < right.position;
}

// The `count` positions with the largest gradients among those not in `stored`. A heap holds the
// best so far, its worst on top; nearly all positions cost one comparison.
std::vector<int64_t> largest_free(const std::vector<int64_t>& stored,
                                  std::span<const float> gradient, int64_t count) {
  if (count == 0) return {};
  std::vector<Candidate> best;
  for_each_free(stored, static_cast<int64_t>(gradient.size()), [&](int64_t position) {
    const Candidate candidate{magnitude_key(gradient[static_cast<size_t>(position)]), position};
    if (static_cast<int64_t>(best.size()) == count) {
      if (!is_better(candidate, best.front())) return;
      std::pop_heap(best.begin(), best.end(), is_better);
      best.pop_back();
    }
    best.push_back(candidate);
    std::push_heap(best.begin(), best.end(), is_better);
  });
  std::vector<int64_t> positions;
  positions.reserve(best.size());
  for (const Candidate& candidate : best) positions.push_back(candidate.position);
  return positions;
}

// `count` of the positions not in `stored`, every choice equally likely: Floyd's algorithm picks
// `count` ranks among the free positions, a walk along `stored` turns them into positions.
std::vector<int64_t> random_free(const std::vector<int64_t>& stored, int64_t positions,
                                 int64_t count, uint64_t seed) {
  Random random(seed);
  std::set<int64_t> ranks;
  const int64_t open = positions - static_cast<int64_t>(stored.size());
  for (int64_t last = open - count; last < open; ++last) {
    const auto rank = static_cast<int64_t>(random.below(static_cast<uint64_t>(last) + 1));
    if (!ranks.insert(rank).second) ranks.insert(last);
  }
  std::vector<int64_t> chosen;
  size_t before = 0;  // stored positions in front of the one sought
  for (const int64_t rank : ranks) {
    while (before < stored.size() && stored[before] <= rank + static_cast<int64_t>(before)) {
      ++before;
    }
    chosen.push_back(rank + static_cast<int64_t>(before));
  }
  return chosen;
}

// `kept` ascending, `added` in any order, no position in both.
Mask with_added(const std::vector<int64_t>& kept, std::vector<int64_t> added, MaskShape shape) {
  std::sort(added.begin(), added.end());
  std::vector<int64_t> all(kept.size() + added.size());
  std::merge(kept.begin(), kept.end(), added.begin(), added.end(), all.begin());
  return mask_from_positions(all, shape);
}

}  // namespace

int64_t stored_weights(int64_t positions, double sparsity) {
  return positions - std::llround(sparsity * static_cast<double>(positions));
}

Mask prune_by_magnitude(const Mask& mask, std::span<const float> values, int64_t stored) {
  if (stored >= mask.nnz()) return mask;
  return mask_from_positions(keep_largest(mask, values, mask.nnz() - stored), mask.shape());
}

Mask rigl_step(const Mask& mask, std::span<const float> values, std::span<const float> gradient,
               int64_t moved) {
  SPARSEJIT_CHECK(static_cast<int64_t>(gradient.size()), ==, mask.rows() * mask.cols());
  const std::vector<int64_t> kept = keep_largest(mask, values, moved);
  return with_added(kept, largest_free(kept, gradient, moved), mask.shape());
}

Mask set_step(const Mask& mask, std::span<const float> values, int64_t moved, uint64_t seed) {
  const int64_t positions = mask.rows() * mask.cols();
  moved = std::min(moved, positions - mask.nnz());
  return with_added(keep_largest(mask, values, moved),
                    random_free(stored_positions(mask), positions, moved, seed), mask.shape());
}

double cubic_sparsity(double from, double to, double progress) {
  const double left = 1.0 - progress;
  return to + (from - to) * left * left * left;
}

double cosine_fraction(double initial, double progress) {
  return initial / 2.0 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace sparsejit::frontend
