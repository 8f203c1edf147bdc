#include "plan_parts.h"

#include <algorithm>
#include <cmath>

#include "whole_numbers.h"

namespace sparsejit {
namespace {

int64_t cost_before(const TapTable& table, int64_t row) {
  return table.row_begin[row] + kRowCostInTaps * row;
}

int64_t count_parts(const TapTable& table, const PartLimits& limits) {
  const int64_t cost = cost_before(table, table.rows());
  const int64_t worthwhile =
      std::min({limits.max_parts, table.rows(), divide_up(cost, limits.min_taps)});
  return std::max({int64_t{1}, worthwhile, divide_up(table.rows(), limits.max_rows)});
}

// Cuts the rows into ranges of about equal cost.
std::vector<int64_t> cut_evenly(const TapTable& table, const PartLimits& limits) {
  const int64_t rows = table.rows();
  const int64_t cost = cost_before(table, rows);
  const int64_t parts = count_parts(table, limits);
  std::vector<int64_t> part_begin = {0};
  int64_t begun = 1;  // shares of the cost
  for (int64_t row = 0; row < rows; ++row) {
    const bool full = row - part_begin.back() == limits.max_rows;
    const bool share = cost_before(table, row) >= begun * cost / parts;
    if (row > part_begin.back() && (full || share)) part_begin.push_back(row);
    if (share) ++begun;
  }
  part_begin.push_back(rows);
  return part_begin;
}

// Whether `part_begin`, made for another mask, still cuts this one well: about as many parts as
// there should be, none much above its share.
bool is_balanced(const std::vector<int64_t>& part_begin, const TapTable& table,
                 const PartLimits& limits) {
  constexpr double kTolerance = 0.25;
  if (part_begin.back() != table.rows()) return false;
  const auto parts = static_cast<double>(part_begin.size() - 1);
  const auto wanted = static_cast<double>(count_parts(table, limits));
  if (std::abs(parts - wanted) > kTolerance * parts) return false;
  const double share = static_cast<double>(cost_before(table, table.rows())) / parts;
  for (size_t i = 0; i + 1 < part_begin.size(); ++i) {
    const int64_t cost = cost_before(table, part_begin[i + 1]) - cost_before(table, part_begin[i]);
    if (static_cast<double>(cost) > (1 + kTolerance) * share) return false;
    if (part_begin[i + 1] - part_begin[i] > limits.max_rows) return false;
  }
  return true;
}

}  // namespace

void plan_parts(Plan& plan, const TapTable& table, const PartLimits& limits, const Plan* previous) {
  const bool keep = previous != nullptr && is_balanced(previous->part_begin, table, limits);
  plan.part_begin = keep ? previous->part_begin : cut_evenly(table, limits);
  for (const int64_t row : plan.part_begin) plan.part_taps.push_back(table.row_begin[row]);
}

}  // namespace sparsejit
