// Strides of each arrangement, and the bookkeeping of gaps.
#include "support/activation.h"

#include <algorithm>
#include <bit>

#include "sparsejit/plan.h"

namespace sparsejit::test {
namespace {

struct Strides {
  int64_t batch = 0;
  int64_t feature = 0;
};

constexpr uint32_t kGap = 0x7FC5A5A5;  // a quiet NaN

Strides strides_of(Arrangement arrangement, int64_t batch, int64_t features) {
  switch (arrangement) {
    case Arrangement::row_major:
      return {features, 1};
    case Arrangement::row_major_padded:
      return {features + 3, 1};
    case Arrangement::feature_major:
      return {1, batch};
    case Arrangement::feature_major_padded:
      return {1, stream_pitch(batch)};
    case Arrangement::strided:
      return {2, 2 * batch + 1};
    case Arrangement::feature_major_reversed:
      return {1, -batch};
    case Arrangement::batch_reversed:
      return {-1, batch};
    case Arrangement::both_reversed:
      return {-features, -1};
    case Arrangement::expanded:
      return {0, 0};
    case Arrangement::expanded_batch:
      return {0, 1};
    case Arrangement::expanded_feature:
      return {1, 0};
  }
  return {};
}

int64_t buffer_size(Strides strides, int64_t batch, int64_t features) {
  if (batch == 0 || features == 0) return 0;
  return std::abs(strides.batch) * (batch - 1) + std::abs(strides.feature) * (features - 1) + 1;
}

// Distance from the lowest element to element (0, 0).
int64_t origin(Strides strides, int64_t batch, int64_t features) {
  return std::max<int64_t>(0, -strides.batch) * std::max<int64_t>(0, batch - 1) +
         std::max<int64_t>(0, -strides.feature) * std::max<int64_t>(0, features - 1);
}

}  // namespace

const std::vector<Arrangement>& writable_arrangements() {
  static const std::vector<Arrangement> kAll = {
      Arrangement::row_major,      Arrangement::row_major_padded,
      Arrangement::feature_major,  Arrangement::feature_major_padded,
      Arrangement::strided,        Arrangement::feature_major_reversed,
      Arrangement::batch_reversed, Arrangement::both_reversed,
  };
  return kAll;
}

const std::vector<Arrangement>& all_arrangements() {
  static const std::vector<Arrangement> kAll = [] {
    std::vector<Arrangement> all = writable_arrangements();
    all.insert(all.end(),
               {Arrangement::expanded, Arrangement::expanded_batch, Arrangement::expanded_feature});
    return all;
  }();
  return kAll;
}

std::string to_text(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::row_major:
      return "row_major";
    case Arrangement::row_major_padded:
      return "row_major_padded";
    case Arrangement::feature_major:
      return "feature_major";
    case Arrangement::feature_major_padded:
      return "feature_major_padded";
    case Arrangement::strided:
      return "strided";
    case Arrangement::feature_major_reversed:
      return "feature_major_reversed";
    case Arrangement::batch_reversed:
      return "batch_reversed";
    case Arrangement::both_reversed:
      return "both_reversed";
    case Arrangement::expanded:
      return "expanded";
    case Arrangement::expanded_batch:
      return "expanded_batch";
    case Arrangement::expanded_feature:
      return "expanded_feature";
  }
  return "?";
}

Activation::Activation(Arrangement arrangement, int64_t batch, int64_t features, Edge edge)
    : buffer_(buffer_size(strides_of(arrangement, batch, features), batch, features), edge) {
  const Strides strides = strides_of(arrangement, batch, features);
  float* first = buffer_.data() + origin(strides, batch, features);
  view_ = {first, batch, features, strides.batch, strides.feature};
  buffer_.fill(std::bit_cast<float>(kGap));
  is_element_.assign(buffer_.floats().size(), false);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t f = 0; f < features; ++f) is_element_[slot(b, f)] = true;
  }
}

int64_t Activation::slot(int64_t sample, int64_t feature) const {
  return (view_.data - buffer_.data()) + sample * view_.batch_stride +
         feature * view_.feature_stride;
}

void Activation::write(std::span<const float> contents) {
  for (int64_t b = 0; b < view_.batch; ++b) {
    for (int64_t f = 0; f < view_.features; ++f) {
      buffer_.data()[slot(b, f)] = contents[b * view_.features + f];
    }
  }
}

void Activation::fill(float value) {
  write(std::vector<float>(static_cast<size_t>(view_.batch * view_.features), value));
}

std::vector<float> Activation::read() const {
  std::vector<float> contents;
  contents.reserve(static_cast<size_t>(view_.batch * view_.features));
  for (int64_t b = 0; b < view_.batch; ++b) {
    for (int64_t f = 0; f < view_.features; ++f) contents.push_back(buffer_.data()[slot(b, f)]);
  }
  return contents;
}

bool Activation::gaps_intact() const {
  const std::span<const float> floats = buffer_.floats();
  for (size_t i = 0; i < floats.size(); ++i) {
    if (!is_element_[i] && std::bit_cast<uint32_t>(floats[i]) != kGap) return false;
  }
  return buffer_.canary_intact();
}

}  // namespace sparsejit::test
