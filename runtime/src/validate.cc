#include "validate.h"

#include <cstdlib>
#include <numeric>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 60;  // offsets in bytes stay inside 63 bits

bool reaches_too_far(int64_t stride, int64_t extent) {
  return stride > kMaxElements || stride < -kMaxElements ||
         (extent > 1 && std::abs(stride) > kMaxElements / (extent - 1));
}

// Elements (i, j) and (i', j') share memory when (i-i') * a == (j'-j) * b; the smallest such
// distances are b/gcd and a/gcd.
bool elements_overlap(const TensorView& view) {
  if (view.batch == 0 || view.features == 0) return false;
  const int64_t a = std::abs(view.batch_stride);
  const int64_t b = std::abs(view.feature_stride);
  if (view.batch > 1 && a == 0) return true;
  if (view.features > 1 && b == 0) return true;
  if (view.batch <= 1 || view.features <= 1) return false;
  const int64_t divisor = std::gcd(a, b);
  return b / divisor < view.batch && a / divisor < view.features;
}

}  // namespace

void validate_input(const ConstTensorView& view, int64_t batch, int64_t features,
                    std::string_view name) {
  if (view.batch < 0 || view.batch != batch || view.features != features) {
    throw_error("{}: shape ({}, {}), expected ({}, {}): batch, features", name, view.batch,
                view.features, batch, features);
  }
  if (batch == 0 || features == 0) return;
  if (view.data == nullptr) {
    throw_error("{}: null data for shape ({}, {}), expected a pointer to its first element", name,
                batch, features);
  }
  if (reinterpret_cast<uintptr_t>(view.data) % alignof(float) != 0) {
    throw_error("{}: address {} is not a multiple of {}, expected aligned floats", name,
                static_cast<const void*>(view.data), alignof(float));
  }
  if (reaches_too_far(view.batch_stride, batch) || reaches_too_far(view.feature_stride, features)) {
    throw_error("{}: strides ({}, {}) reach beyond what memory can hold", name, view.batch_stride,
                view.feature_stride);
  }
}

void validate_output(const TensorView& view, int64_t batch, int64_t features,
                     std::string_view name) {
  validate_input(view, batch, features, name);
  if (elements_overlap(view)) {
    throw_error(
        "{}: strides ({}, {}) make elements of shape ({}, {}) share memory, expected an "
        "output without overlap",
        name, view.batch_stride, view.feature_stride, batch, features);
  }
}

void validate_array(std::span<const float> array, int64_t expected, bool may_be_empty,
                    std::string_view name) {
  if (may_be_empty && array.empty()) return;
  if (static_cast<int64_t>(array.size()) != expected) {
    throw_error("{}: {} entries, expected {}{}", name, array.size(), expected,
                may_be_empty ? " or none" : "");
  }
  if (expected > 0 && array.data() == nullptr) {
    throw_error("{}: null data for {} entries, expected a pointer to the first", name, expected);
  }
}

void validate_distinct(const void* output, const void* other, std::string_view output_name,
                       std::string_view other_name) {
  if (output != nullptr && output == other) {
    throw_error("{}: starts at the address of {}, expected memory of its own", output_name,
                other_name);
  }
}

void validate_options(const LayerOptions& options) {
  if (options.batch < 0) {
    throw_error("options: batch is {}, expected 0 (compile later) or more", options.batch);
  }
  if (options.pitch != 0 && options.pitch < options.batch) {
    throw_error("options: pitch {} is less than the batch {}, expected 0 or at least the batch",
                options.pitch, options.batch);
  }
}

}  // namespace sparsejit
