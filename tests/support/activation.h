// Activation: a (batch, features) matrix of the caller in any arrangement of strides, in guarded
// memory. The slots between its elements (gaps) hold a NaN with a mark: a kernel that reads one
// spoils its sums, a kernel that writes one is found by `gaps_intact`.
//
//     row_major_padded, 2 samples of 3 features:      a a a # # # a a a
//     strided, batch stride 2:                        a # a # a # ...
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sparsejit/tensor_view.h"
#include "support/guarded_buffer.h"

namespace sparsejit::test {

enum class Arrangement {
  row_major,
  row_major_padded,
  feature_major,
  feature_major_padded,
  strided,                 // gaps in both directions
  feature_major_reversed,  // features run backwards
  batch_reversed,          // samples run backwards
  both_reversed,
  expanded,          // strides (0, 0): every element is one float; inputs only
  expanded_batch,    // all samples are one sample; inputs only
  expanded_feature,  // all features are one feature; inputs only
};

const std::vector<Arrangement>& all_arrangements();       // what an input may have
const std::vector<Arrangement>& writable_arrangements();  // what an output may have
std::string to_text(Arrangement arrangement);

class Activation {
 public:
  Activation(Arrangement arrangement, int64_t batch, int64_t features, Edge edge);

  TensorView view() const { return view_; }
  // `contents` is row-major. Elements that share memory keep the last one written.
  void write(std::span<const float> contents);
  void fill(float value);
  std::vector<float> read() const;  // row-major
  void make_read_only() { buffer_.make_read_only(); }
  // True when nothing but the elements was written since construction.
  bool gaps_intact() const;

 private:
  int64_t slot(int64_t sample, int64_t feature) const;

  GuardedBuffer buffer_;
  TensorView view_;
  std::vector<bool> is_element_;  // for each float of the buffer
};

}  // namespace sparsejit::test
