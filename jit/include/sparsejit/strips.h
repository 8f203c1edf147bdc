// Strips: how kernels of the strip family have their operands, all of them packed.
//
//     a slab's stream        | strip 0 | strip 1 | ... | last |000     zeros up to a whole strip
//     a strip of 2n vectors  its halves, the pieces, with their vectors in turn:
//                            piece 0   0..7       8..15        16..23    ...
//                            piece 1       64..71      72..79       80..87
//
// So half of a vector of 16 floats belongs to each piece. What the gradient of a value comes to in
// a strip is the sum over piece 0, in eight lanes, and then that over piece 1: the same bits
// whether a kernel has vectors of eight floats or of 16. Strips are short: the gathered ones of a
// block stay in L1 while all rows use them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sparsejit {

// Floats of the longest strip of any plan; and what the length of every strip is a multiple of:
// kernels take two vectors of 16 at a time.
inline constexpr int64_t kMaxStripFloats = 128;
inline constexpr int64_t kStripUnit = 32;
inline constexpr int64_t kPieceLanes = 8;

// The strips of a stream, of at most `longest` floats, as equal as units allow. None is empty.
class StripCut {
 public:
  StripCut(int64_t length, int64_t longest)
      : length_(length),
        units_((length + kStripUnit - 1) / kStripUnit),
        count_((units_ * kStripUnit + longest - 1) / longest) {}

  int64_t count() const { return count_; }
  int64_t begin(int64_t strip) const { return units_ * strip / count_ * kStripUnit; }
  // With the zeros at the end.
  int64_t floats(int64_t strip) const { return begin(strip + 1) - begin(strip); }
  // Of the stream itself.
  int64_t valid(int64_t strip) const { return std::min(length_, begin(strip + 1)) - begin(strip); }

 private:
  int64_t length_;
  int64_t units_;
  int64_t count_;
};

// Where float `t` of a strip of `floats` floats lies.
inline int64_t strip_position(int64_t t, int64_t floats) {
  const int64_t piece = floats / 2;
  const int64_t in_piece = t % piece;
  return in_piece / kPieceLanes * 2 * kPieceLanes + t / piece * kPieceLanes +
         in_piece % kPieceLanes;
}

}  // namespace sparsejit
