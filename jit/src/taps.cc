// Lowering, transposition, verification and printing of taps.
#include "sparsejit/taps.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "sparsejit/error.h"

namespace sparsejit {

TapTable lower_linear(const Mask& mask) {
  TapTable table;
  table.streams = mask.cols();
  table.row_begin.assign(mask.row_begin().begin(), mask.row_begin().end());
  table.taps.reserve(mask.nnz());
  int32_t value = 0;
  for (const int32_t column : mask.columns()) {
    table.taps.push_back({.stream = column, .shift = 0, .value = value++});
  }
  return table;
}

// Counting sort by stream; rows are visited in order, so each new row stays ordered by its stream.
TapTable transpose(const TapTable& table) {
  TapTable result;
  result.streams = table.rows();
  result.row_begin.assign(table.streams + 1, 0);
  for (const Tap& tap : table.taps) ++result.row_begin[tap.stream + 1];
  for (int64_t s = 0; s < table.streams; ++s) result.row_begin[s + 1] += result.row_begin[s];
  std::vector<int64_t> next(result.row_begin.begin(), result.row_begin.end() - 1);
  result.taps.resize(table.taps.size());
  for (int64_t row = 0; row < table.rows(); ++row) {
    // Backwards inside a row: shifts change sign, and so does their order.
    for (int64_t i = table.row_begin[row + 1]; i-- > table.row_begin[row];) {
      const Tap& tap = table.taps[i];
      result.taps[next[tap.stream]++] = {
          .stream = static_cast<int32_t>(row), .shift = -tap.shift, .value = tap.value};
    }
  }
  return result;
}

bool is_without_shifts(const TapTable& table) {
  return std::all_of(table.taps.begin(), table.taps.end(),
                     [](const Tap& tap) { return tap.shift == 0; });
}

void verify_taps(const TapTable& table) {
  SPARSEJIT_CHECK(table.row_begin.empty(), ==, false);
  SPARSEJIT_CHECK(table.row_begin.front(), ==, 0);
  SPARSEJIT_CHECK(table.row_begin.back(), ==, table.size());
  std::vector<bool> seen(table.taps.size(), false);
  for (int64_t row = 0; row < table.rows(); ++row) {
    SPARSEJIT_CHECK(table.row_begin[row], <=, table.row_begin[row + 1]);
    SPARSEJIT_CHECK(table.row_begin[row + 1], <=, table.size());
    for (int64_t i = table.row_begin[row]; i < table.row_begin[row + 1]; ++i) {
      const Tap& tap = table.taps[i];
      SPARSEJIT_CHECK(tap.stream, >=, 0);
      SPARSEJIT_CHECK(tap.stream, <, table.streams);
      SPARSEJIT_CHECK(tap.value, >=, 0);
      SPARSEJIT_CHECK(tap.value, <, table.size());
      SPARSEJIT_CHECK(static_cast<bool>(seen[tap.value]), ==, false);
      seen[tap.value] = true;
      if (i > table.row_begin[row]) {
        const Tap& before = table.taps[i - 1];
        const bool ordered =
            std::tie(before.stream, before.shift) <= std::tie(tap.stream, tap.shift);
        SPARSEJIT_CHECK(ordered, ==, true);
      }
    }
  }
}

std::string to_text(const TapTable& table, int64_t first_row, int64_t max_rows) {
  std::string text;
  auto out = std::back_inserter(text);
  const int64_t last_row = std::min(table.rows(), first_row + max_rows);
  for (int64_t row = first_row; row < last_row; ++row) {
    fmt::format_to(out, "row {}:", row);
    for (int64_t i = table.row_begin[row]; i < table.row_begin[row + 1]; ++i) {
      const Tap& tap = table.taps[i];
      fmt::format_to(out, " v{}*s{}", tap.value, tap.stream);
      if (tap.shift != 0) fmt::format_to(out, "[{:+}]", tap.shift);
    }
    text += '\n';
  }
  return text;
}

}  // namespace sparsejit
