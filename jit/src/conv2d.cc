// Geometry one axis at a time; see conv2d.h. Read plan_axis first.
#include "sparsejit/conv2d.h"

#include <algorithm>
#include <tuple>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Sizes beyond this (pixels of an axis, padding, strides, floats of a shift) are refused, so that
// no product of two of them leaves 64 bits and shifts fit 32.
constexpr int64_t kMaxSize = int64_t{1} << 24;
constexpr int64_t kMaxShift = int64_t{1} << 28;

struct Axis {
  int64_t input;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t padding_before;
  int64_t padding_after;

  int64_t padded() const { return input + padding_before + padding_after; }
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
  int64_t output() const { return (padded() - reach()) / stride + 1; }
  // Of tap k: input pixel = output pixel * stride + offset.
  int64_t offset(int64_t k) const { return k * dilation - padding_before; }
  int64_t phase(int64_t k) const { return (offset(k) % stride + stride) % stride; }
  int64_t shift(int64_t k) const { return (offset(k) - phase(k)) / stride; }
};

Axis rows_of(const MaskShape& shape, const Conv2d& conv, ImageSize input) {
  return {.input = input.height,
          .kernel = shape.kernel_h,
          .stride = conv.stride.h,
          .dilation = conv.dilation.h,
          .padding_before = conv.padding.top,
          .padding_after = conv.padding.bottom};
}

Axis columns_of(const MaskShape& shape, const Conv2d& conv, ImageSize input) {
  return {.input = input.width,
          .kernel = shape.kernel_w,
          .stride = conv.stride.w,
          .dilation = conv.dilation.w,
          .padding_before = conv.padding.left,
          .padding_after = conv.padding.right};
}

struct AxisPlan {
  std::vector<int64_t> phases;  // that some tap reads, ascending
  std::vector<int64_t> sizes;   // pixels of each phase that some output reads
  int64_t pitch = 1;
  int64_t used = 1;
  int64_t halo = 0;
};

// Outputs 0..O-1 read plane pixels o + shift. Pixels below 0 fall into the gap before, those above
// the last into the gap after, which are the same gap: with `pitch` at least size - lowest shift
// and O + highest shift, and likewise seen from the input, nothing reads past it.
AxisPlan plan_axis(const Axis& axis) {
  AxisPlan plan;
  const int64_t lowest = axis.shift(0);
  const int64_t highest = axis.shift(axis.kernel - 1);
  for (int64_t k = 0; k < axis.kernel; ++k) plan.phases.push_back(axis.phase(k));
  std::sort(plan.phases.begin(), plan.phases.end());
  plan.phases.erase(std::unique(plan.phases.begin(), plan.phases.end()), plan.phases.end());
  int64_t largest = 0;
  for (const int64_t phase : plan.phases) {
    const int64_t exist = (axis.input - phase + axis.stride - 1) / axis.stride;
    plan.sizes.push_back(
        std::clamp<int64_t>(axis.output() + highest, 0, std::max<int64_t>(exist, 0)));
    largest = std::max(largest, plan.sizes.back());
  }
  plan.used = std::max(largest, axis.output());
  plan.pitch = std::max({plan.used, largest - lowest, axis.output() + highest});
  plan.halo = std::max(-lowest, highest);
  return plan;
}

void validate_positive(PerAxis value, const char* what) {
  if (value.h < 1 || value.w < 1 || value.h > kMaxSize || value.w > kMaxSize) {
    throw_error("conv2d: {} is ({}, {}), expected 1 to {} on each axis", what, value.h, value.w,
                kMaxSize);
  }
}

int64_t index_of(const std::vector<int64_t>& sorted, int64_t value) {
  return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

Padding2d same_padding(const MaskShape& shape, PerAxis dilation) {
  const int64_t rows = dilation.h * (shape.kernel_h - 1);
  const int64_t columns = dilation.w * (shape.kernel_w - 1);
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

// What each position of the kernel reads, row by row, which is the same for all channels.
std::vector<ShiftedPlane> kernel_positions(const MaskShape& shape, const Conv2d& conv,
                                           const ConvStreams& streams) {
  const Axis rows = rows_of(shape, conv, streams.source.size);
  const Axis columns = columns_of(shape, conv, streams.source.size);
  const AxisPlan row_plan = plan_axis(rows);
  const AxisPlan column_plan = plan_axis(columns);
  const auto column_phases = static_cast<int64_t>(column_plan.phases.size());
  std::vector<ShiftedPlane> positions;
  for (int64_t i = 0; i < shape.kernel_h; ++i) {
    for (int64_t j = 0; j < shape.kernel_w; ++j) {
      const int64_t plane = index_of(row_plan.phases, rows.phase(i)) * column_phases +
                            index_of(column_plan.phases, columns.phase(j));
      const int64_t shift = rows.shift(i) * streams.grid.row_pitch + columns.shift(j);
      positions.push_back(
          {.plane = static_cast<int32_t>(plane), .shift = static_cast<int32_t>(shift)});
    }
  }
  return positions;
}

std::vector<ShiftedPlane> sort_once(std::vector<ShiftedPlane> planes) {
  std::sort(planes.begin(), planes.end());
  planes.erase(std::unique(planes.begin(), planes.end()), planes.end());
  return planes;
}

}  // namespace

Conv2d resolve_conv2d(const MaskShape& shape, const Conv2d& conv) {
  validate_positive(conv.stride, "stride");
  validate_positive(conv.dilation, "dilation");
  if (shape.kernel_h < 1 || shape.kernel_w < 1) {
    throw_error("conv2d: kernel {}x{}, expected at least 1x1", shape.kernel_h, shape.kernel_w);
  }
  if (conv.groups < 1 || shape.out % conv.groups != 0) {
    throw_error("conv2d: groups is {}, expected a divisor of the {} output channels", conv.groups,
                shape.out);
  }
  if (shape.in > INT32_MAX / conv.groups) {
    throw_error("conv2d: {} groups of {} input channels, expected at most {} channels", conv.groups,
                shape.in, INT32_MAX);
  }
  if (shape.kernel_h > kMaxSize || shape.kernel_w > kMaxSize) {
    throw_error("conv2d: kernel {}x{}, expected at most {} on each axis", shape.kernel_h,
                shape.kernel_w, kMaxSize);
  }
  Conv2d resolved = conv;
  if (conv.padding.is_same) {
    if (conv.stride != PerAxis(1)) {
      throw_error("conv2d: padding 'same' with stride ({}, {}), expected stride 1", conv.stride.h,
                  conv.stride.w);
    }
    resolved.padding = same_padding(shape, conv.dilation);
  }
  const Padding2d& p = resolved.padding;
  for (const int64_t side : {p.top, p.bottom, p.left, p.right}) {
    if (side < 0 || (side > kMaxSize && !conv.padding.is_same)) {
      throw_error(
          "conv2d: padding is ({}, {}, {}, {}) (top, bottom, left, right), expected 0 to {}", p.top,
          p.bottom, p.left, p.right, kMaxSize);
    }
  }
  return resolved;
}

ImageSize output_size(const MaskShape& shape, const Conv2d& conv, ImageSize input) {
  if (input.height < 1 || input.width < 1 || input.height > kMaxSize || input.width > kMaxSize) {
    throw_error("conv2d: input image {}x{}, expected 1 to {} on each axis", input.height,
                input.width, kMaxSize);
  }
  const Axis rows = rows_of(shape, conv, input);
  const Axis columns = columns_of(shape, conv, input);
  if (rows.padded() < rows.reach() || columns.padded() < columns.reach()) {
    throw_error(
        "conv2d: the output would be empty: input {}x{} with padding is {}x{}, the kernel with "
        "dilation reaches over {}x{}",
        input.height, input.width, rows.padded(), columns.padded(), rows.reach(), columns.reach());
  }
  return {rows.output(), columns.output()};
}

ConvStreams plan_streams(const MaskShape& shape, const Conv2d& conv, ImageSize input) {
  ConvStreams streams;
  streams.source = {.size = input, .stride = conv.stride, .planes = {}};
  streams.destination = {.size = output_size(shape, conv, input), .stride = 1, .planes = {}};
  const AxisPlan rows = plan_axis(rows_of(shape, conv, input));
  const AxisPlan columns = plan_axis(columns_of(shape, conv, input));
  for (size_t r = 0; r < rows.phases.size(); ++r) {
    for (size_t c = 0; c < columns.phases.size(); ++c) {
      streams.source.planes.push_back({.row_phase = rows.phases[r],
                                       .column_phase = columns.phases[c],
                                       .rows = rows.sizes[r],
                                       .columns = columns.sizes[c]});
    }
  }
  streams.destination.planes = {{.row_phase = 0,
                                 .column_phase = 0,
                                 .rows = streams.destination.size.height,
                                 .columns = streams.destination.size.width}};
  streams.grid = {.row_pitch = columns.pitch,
                  .image_rows = rows.pitch,
                  .used_rows = rows.used,
                  .used_columns = columns.used,
                  .halo_rows = rows.halo,
                  .halo_columns = columns.halo};
  const auto planes = static_cast<int64_t>(streams.source.planes.size());
  if (conv.groups * shape.in > INT32_MAX / planes) {
    throw_error("conv2d: {} input channels in {} phases, expected at most {} streams",
                conv.groups * shape.in, planes, INT32_MAX);
  }
  if (rows.halo * columns.pitch + columns.halo > kMaxShift) {
    throw_error("conv2d: taps reach over {} rows of {} floats, expected at most {} floats",
                rows.halo, columns.pitch, kMaxShift);
  }
  return streams;
}

int64_t source_streams(const MaskShape& shape, const Conv2d& conv, const ConvStreams& streams) {
  return conv.groups * shape.in * static_cast<int64_t>(streams.source.planes.size());
}

TapTable lower_conv2d(const Mask& mask, const Conv2d& conv, const ConvStreams& streams) {
  const MaskShape& shape = mask.shape();
  const auto planes = static_cast<int64_t>(streams.source.planes.size());
  const std::vector<ShiftedPlane> kernel = kernel_positions(shape, conv, streams);
  TapTable table;
  table.streams = source_streams(shape, conv, streams);
  table.row_begin.assign(mask.row_begin().begin(), mask.row_begin().end());
  table.taps.reserve(mask.nnz());
  const auto positions = static_cast<int64_t>(kernel.size());
  const int64_t rows_per_group = std::max<int64_t>(1, shape.out / conv.groups);
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const int64_t first_channel = row / rows_per_group * shape.in;
    for (int64_t i = table.row_begin[row]; i < table.row_begin[row + 1]; ++i) {
      const int64_t column = mask.columns()[i];
      const auto [plane, shift] = kernel[column % positions];
      const int64_t channel = first_channel + column / positions;
      table.taps.push_back({.stream = static_cast<int32_t>(channel * planes + plane),
                            .shift = shift,
                            .value = static_cast<int32_t>(i)});
    }
    const auto in_order = [](const Tap& a, const Tap& b) {
      return std::tie(a.stream, a.shift, a.value) < std::tie(b.stream, b.shift, b.value);
    };
    const auto first = table.taps.begin() + table.row_begin[row];
    if (!std::is_sorted(first, table.taps.end(), in_order)) {
      std::sort(first, table.taps.end(), in_order);
    }
  }
  return table;
}

std::vector<ShiftedPlane> shifted_planes(const MaskShape& shape, const Conv2d& conv,
                                         const ConvStreams& streams) {
  return sort_once(kernel_positions(shape, conv, streams));
}

std::vector<ShiftedPlane> shifted_gradients(const MaskShape& shape, const Conv2d& conv,
                                            const ConvStreams& streams) {
  std::vector<ShiftedPlane> shifted = kernel_positions(shape, conv, streams);
  for (ShiftedPlane& plane : shifted) plane = {.plane = 0, .shift = -plane.shift};
  return sort_once(std::move(shifted));
}

TapTable unshift(const TapTable& table, int64_t planes, const std::vector<ShiftedPlane>& shifted) {
  const auto count = static_cast<int64_t>(shifted.size());
  TapTable result = table;
  result.streams = table.streams / planes * count;
  if (result.streams > INT32_MAX) {
    throw_error("conv2d: {} channels in {} shifted planes, expected at most {} streams",
                table.streams / planes, count, INT32_MAX);
  }
  for (Tap& tap : result.taps) {
    const ShiftedPlane read{static_cast<int32_t>(tap.stream % planes), tap.shift};
    const auto at = std::lower_bound(shifted.begin(), shifted.end(), read) - shifted.begin();
    tap.stream = static_cast<int32_t>(tap.stream / planes * count + at);
    tap.shift = 0;
  }
  return result;
}

}  // namespace sparsejit
