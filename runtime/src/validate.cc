#include "validate.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 60;  // offsets in bytes stay inside 63 bits

struct Extent {
  int64_t count;
  int64_t stride;
};

std::array<Extent, 4> extents_of(const ConstImageView& view) {
  return {{{view.images, view.image_stride},
           {view.channels, view.channel_stride},
           {view.height, view.row_stride},
           {view.width, view.pixel_stride}}};
}

bool reaches_too_far(const Extent& extent) {
  return extent.stride > kMaxElements || extent.stride < -kMaxElements ||
         (extent.count > 1 && std::abs(extent.stride) > kMaxElements / (extent.count - 1));
}

// Elements (i, j) and (i', j') share memory when (i-i') * a == (j'-j) * b; the smallest such
// distances are b/gcd and a/gcd.
bool axes_overlap(const Extent& first, const Extent& second) {
  const int64_t a = std::abs(first.stride);
  const int64_t b = std::abs(second.stride);
  const int64_t divisor = std::gcd(a, b);
  return b / divisor < first.count && a / divisor < second.count;
}

// Exact for two axes. With more, each axis must step over all that the finer ones span: strides
// that interleave several axes without overlap are refused too.
bool elements_overlap(const ConstImageView& view) {
  const auto extents = extents_of(view);
  if (std::any_of(extents.begin(), extents.end(), [](const Extent& e) { return e.count == 0; })) {
    return false;
  }
  std::vector<Extent> axes;
  for (const Extent& extent : extents) {
    if (extent.count == 1) continue;
    if (extent.stride == 0) return true;
    axes.push_back({extent.count, std::abs(extent.stride)});
  }
  if (axes.size() == 2) return axes_overlap(axes[0], axes[1]);
  std::sort(axes.begin(), axes.end(),
            [](const Extent& a, const Extent& b) { return a.stride < b.stride; });
  int64_t span = 0;
  for (const Extent& axis : axes) {
    if (axis.stride <= span) return true;
    span += axis.stride * (axis.count - 1);
  }
  return false;
}

std::string shape_text(const TensorShape& shape) {
  if (shape.linear) return fmt::format("({}, {})", shape.images, shape.channels);
  return fmt::format("({}, {}, {}, {})", shape.images, shape.channels, shape.size.height,
                     shape.size.width);
}

std::string strides_text(const ConstImageView& view, bool linear) {
  if (linear) return fmt::format("({}, {})", view.image_stride, view.channel_stride);
  return fmt::format("({}, {}, {}, {})", view.image_stride, view.channel_stride, view.row_stride,
                     view.pixel_stride);
}

}  // namespace

void validate_input(const ConstImageView& view, const TensorShape& shape, std::string_view name) {
  if (view.images < 0 || view.images != shape.images || view.channels != shape.channels ||
      view.height != shape.size.height || view.width != shape.size.width) {
    const TensorShape seen{view.images, view.channels, {view.height, view.width}, shape.linear};
    throw_error("{}: shape {}, expected {}: {}", name, shape_text(seen), shape_text(shape),
                shape.linear ? "batch, features" : "images, channels, height, width");
  }
  if (shape.images == 0 || shape.channels == 0) return;
  if (view.data == nullptr) {
    throw_error("{}: null data for shape {}, expected a pointer to its first element", name,
                shape_text(shape));
  }
  if (reinterpret_cast<uintptr_t>(view.data) % alignof(float) != 0) {
    throw_error("{}: address {} is not a multiple of {}, expected aligned floats", name,
                static_cast<const void*>(view.data), alignof(float));
  }
  const auto extents = extents_of(view);
  if (std::any_of(extents.begin(), extents.end(), reaches_too_far)) {
    throw_error("{}: strides {} reach beyond what memory can hold", name,
                strides_text(view, shape.linear));
  }
}

void validate_output(const ImageView& view, const TensorShape& shape, std::string_view name) {
  validate_input(view, shape, name);
  if (elements_overlap(view)) {
    throw_error(
        "{}: strides {} make elements of shape {} share memory, expected an output without overlap",
        name, strides_text(view, shape.linear), shape_text(shape));
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
  if (options.expected_calls < 0) {
    throw_error("options: expected_calls is {}, expected 0 (many) or more", options.expected_calls);
  }
  if (options.pitch != 0 && options.pitch < options.batch) {
    throw_error("options: pitch {} is less than the batch {}, expected 0 or at least the batch",
                options.pitch, options.batch);
  }
}

}  // namespace sparsejit
