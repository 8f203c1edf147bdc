// Taps: the form every layer is lowered to before anything is planned or emitted.
//
// A *stream* is a contiguous run of floats of one channel (for a linear layer: one feature over
// the batch). A *tap* is one stored weight seen from the row that accumulates:
//
//     own[row][t] += value[tap.value] * gathered[tap.stream][t + tap.shift]
//
// Forward rows are destination streams and gather sources; `transpose` gives the same taps from
// the sources' side, which is what the backward pass walks:
//
//     d_src[row][t]     += value * d_dst[tap.stream][t + tap.shift]
//     d_value[tap.value] += sum over t of src[row][t] * d_dst[tap.stream][t + tap.shift]
//
// Inside a row taps are ordered by (stream, shift). That order fixes the order of every sum, for
// all engines: it is why they agree bit for bit. Plain data, immutable after construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/mask.h"

namespace sparsejit {

struct Tap {
  int32_t stream = 0;  // the stream that is gathered
  int32_t shift = 0;   // in floats; 0 for linear layers
  int32_t value = 0;   // value index of the stored weight
  bool operator==(const Tap&) const = default;
};

struct TapTable {
  int64_t streams = 0;             // number of gathered streams
  std::vector<int64_t> row_begin;  // rows+1 offsets into taps
  std::vector<Tap> taps;

  int64_t rows() const { return static_cast<int64_t>(row_begin.size()) - 1; }
  int64_t size() const { return static_cast<int64_t>(taps.size()); }
  bool operator==(const TapTable&) const = default;
};

// Linear layer: destination row = output feature, stream = input feature, shift 0.
TapTable lower_linear(const Mask& mask);

// The same taps grouped by the stream they gathered; shifts change sign.
TapTable transpose(const TapTable& table);

bool is_without_shifts(const TapTable& table);

// Throws InternalError unless offsets are monotone, streams are in range, every value index
// appears exactly once and each row is ordered by (stream, shift).
void verify_taps(const TapTable& table);

// "row 0: v0*s0 v1*s2" one line a row; shifts print as s2[+3]. At most max_rows rows.
std::string to_text(const TapTable& table, int64_t first_row = 0, int64_t max_rows = 1 << 30);

}  // namespace sparsejit
