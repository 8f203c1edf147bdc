// The list of workloads, and the arithmetic on one; see workload.h.
#include "bench/workload.h"

#include <unistd.h>

#include <algorithm>

#include "conv_arguments.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {

Extents extents(const Workload& workload) {
  if (!workload.conv) return {1, {1, workload.batch}, {1, workload.batch}};
  const ImageSize input = workload.conv->image;
  return {workload.batch, input, output_size(weight_shape(workload), workload.conv->conv, input)};
}

MaskShape weight_shape(const Workload& workload) {
  if (!workload.conv) return {workload.out, workload.in};
  const ConvGeometry& geometry = *workload.conv;
  return {workload.out, workload.in / geometry.conv.groups, geometry.kernel.h, geometry.kernel.w};
}

std::string layer_name(const Workload& workload) {
  std::string name = fmt::format("{}x{}", workload.in, workload.out);
  if (!workload.conv) return name;
  return fmt::format("{}x{}x{}", name, workload.conv->kernel.h, workload.conv->kernel.w);
}

std::string layer_geometry(const Workload& workload) {
  if (!workload.conv) return layer_name(workload);
  const std::string geometry = to_text(workload.conv->conv);
  return fmt::format("{} on {}{}{}", layer_name(workload), to_text(workload.conv->image),
                     geometry.empty() ? "" : ", ", geometry);
}

std::string layer_text(const Workload& workload) {
  return fmt::format("{}{} batch {}", layer_geometry(workload), workload.conv ? "," : "",
                     workload.batch);
}

const char* layout_name(const Workload& workload, Layout layout) {
  if (workload.conv) return layout == Layout::feature_major ? "nchw" : "channels-last";
  return layout == Layout::feature_major ? "feature-major" : "row-major";
}

int64_t feature_pitch(const Workload& workload) {
  return workload.tight_pitch ? workload.batch : stream_pitch(workload.batch);
}

double products_per_weight(const Workload& workload) {
  const Extents sizes = extents(workload);
  return static_cast<double>(sizes.images) * static_cast<double>(sizes.output_pixels());
}

double flops(const Workload& workload, int64_t nnz, Pass pass) {
  const double products = static_cast<double>(nnz) * products_per_weight(workload);
  return pass == Pass::backward && workload.want_dx ? 4 * products : 2 * products;
}

Workload linear_layer(int64_t in, int64_t out) {
  Workload layer;
  layer.in = in;
  layer.out = out;
  return layer;
}

std::vector<WorkloadGrid> default_suite() {
  return {{{linear_layer(768, 3072)}, {902}, {0.8, 0.9, 0.95, 0.98, 0.99}},
          {{linear_layer(256, 256)}, {16, 32, 64}, {0.9, 0.95, 0.99}},
          {{linear_layer(784, 512)}, {100}, {0.9, 0.98}},
          {{linear_layer(512, 2048)}, {128}, {0.9, 0.98}},
          {{linear_layer(768, 3072)}, {32}, {0.9, 0.98}}};
}

std::vector<Workload> list_workloads(const std::vector<WorkloadGrid>& grids) {
  std::vector<Workload> workloads;
  for (const WorkloadGrid& grid : grids) {
    for (Workload workload : grid.layers) {
      for (const int64_t batch : grid.batches) {
        for (const double sparsity : grid.sparsities) {
          workload.batch = batch;
          workload.sparsity = sparsity;
          if (std::find(workloads.begin(), workloads.end(), workload) == workloads.end()) {
            workloads.push_back(workload);
          }
        }
      }
    }
  }
  return workloads;
}

void validate_memory(const Workload& workload, bool dense) {
  // Bytes. A number of a tensor: two tensors in two layouts (of a convolution: the problem's, and
  // that of the library or a baseline), reference and its magnitude in double precision. A stored
  // weight: value, gradient, taps and code of both passes, reference. Dense: a weight and its
  // gradient.
  const MaskShape shape = weight_shape(workload);
  const double weights = static_cast<double>(shape.rows()) * static_cast<double>(shape.cols());
  const double stored = weights * (1 - workload.sparsity);
  const Extents sizes = extents(workload);
  const auto length = [&](int64_t pixels) {
    return workload.conv ? static_cast<double>(sizes.images) * static_cast<double>(pixels)
                         : static_cast<double>(feature_pitch(workload));
  };
  const double activations = static_cast<double>(workload.in) * length(sizes.input_pixels()) +
                             static_cast<double>(workload.out) * length(sizes.output_pixels());
  const double needed = 32 * activations + 160 * stored + (dense ? 8 * weights : 0);
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > physical) {
    constexpr double kGib = 1 << 30;
    throw_error(
        "bench: {} at sparsity {} needs about {:.1f} GiB, expected at most the {:.1f} GiB of this "
        "machine",
        layer_text(workload), workload.sparsity, needed / kGib, physical / kGib);
  }
}

}  // namespace sparsejit::frontend
