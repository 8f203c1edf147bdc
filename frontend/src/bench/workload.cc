// The list of workloads, and the arithmetic on one; see workload.h.
#include "bench/workload.h"

#include <unistd.h>

#include <algorithm>

#include "sparsejit/error.h"

namespace sparsejit::frontend {

std::string layer_name(const Workload& workload) {
  return fmt::format("{}x{}", workload.in, workload.out);
}

const char* layout_name(Layout layout) {
  return layout == Layout::feature_major ? "feature-major" : "row-major";
}

int64_t feature_pitch(const Workload& workload) {
  return workload.tight_pitch ? workload.batch : stream_pitch(workload.batch);
}

double flops(const Workload& workload, int64_t nnz, Pass pass) {
  const double products = static_cast<double>(nnz) * static_cast<double>(workload.batch);
  return pass == Pass::backward && workload.want_dx ? 4 * products : 2 * products;
}

std::vector<WorkloadGrid> default_suite() {
  return {{{{768, 3072}}, {902}, {0.8, 0.9, 0.95, 0.98, 0.99}},
          {{{256, 256}}, {16, 32, 64}, {0.9, 0.95, 0.99}},
          {{{784, 512}}, {100}, {0.9, 0.98}},
          {{{512, 2048}}, {128}, {0.9, 0.98}},
          {{{768, 3072}}, {32}, {0.9, 0.98}}};
}

std::vector<Workload> list_workloads(const std::vector<WorkloadGrid>& grids,
                                     const Workload& common) {
  std::vector<Workload> workloads;
  for (const WorkloadGrid& grid : grids) {
    for (const WorkloadGrid::Shape& shape : grid.shapes) {
      for (const int64_t batch : grid.batches) {
        for (const double sparsity : grid.sparsities) {
          Workload workload = common;
          workload.in = shape.in;
          workload.out = shape.out;
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
  // Bytes. A feature and sample: two tensors in two layouts, reference and its magnitude in double
  // precision. A stored weight: value, gradient, taps and code of both passes, reference. Dense:
  // a weight and its gradient.
  const double weights = static_cast<double>(workload.in) * static_cast<double>(workload.out);
  const double stored = weights * (1 - workload.sparsity);
  const double activations = static_cast<double>(workload.in + workload.out) *
                             static_cast<double>(feature_pitch(workload));
  const double needed = 32 * activations + 160 * stored + (dense ? 8 * weights : 0);
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > physical) {
    constexpr double kGib = 1 << 30;
    throw_error(
        "bench: {} with batch {} at sparsity {} needs about {:.1f} GiB, expected at most the "
        "{:.1f} GiB of this machine",
        layer_name(workload), workload.batch, workload.sparsity, needed / kGib, physical / kGib);
  }
}

}  // namespace sparsejit::frontend
