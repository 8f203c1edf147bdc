// Workload: one line of a benchmark as plain data: a layer shape, a batch, a sparsity.
//
//     --shape 768x3072 --batch 64,902 --sparsity 0.9,0.95   ->   four workloads
//
// Nothing is allocated here; `Problem` (problem.h) turns a workload into tensors. A workload says
// all that a problem depends on, so the same workload and seed give the same numbers.
//
// Seam: only linear layers exist. Another kind of layer adds its geometry to this struct, its name
// to layer_name and its count of products to flops; measuring and reporting read nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/layer.h"

namespace sparsejit::frontend {

inline constexpr std::array<Pass, 2> kBothPasses = {Pass::forward, Pass::backward};

struct Workload {
  int64_t in = 0;
  int64_t out = 0;
  int64_t batch = 0;
  double sparsity = 0;
  Layout layout = Layout::feature_major;
  bool tight_pitch = false;  // feature-major: pitch = batch instead of stream_pitch(batch)
  bool bias = false;         // bias and its gradient are part of the work, on every engine
  bool want_dx = true;       // false: the first layer of a network
  uint64_t seed = 1;
  bool operator==(const Workload&) const = default;
};

// "768x3072": in x out.
std::string layer_name(const Workload& workload);
const char* layout_name(Layout layout);

// Distance between features of the feature-major tensors, in floats.
int64_t feature_pitch(const Workload& workload);

// Useful floating-point operations of a pass over `nnz` stored weights; the bias is not counted.
// The same number is used for every engine, dense included, so GF/s compare like times do.
double flops(const Workload& workload, int64_t nnz, Pass pass);

// Shapes, batches and sparsities that are measured together, all combinations.
struct WorkloadGrid {
  struct Shape {
    int64_t in = 0;
    int64_t out = 0;
  };
  std::vector<Shape> shapes;
  std::vector<int64_t> batches;
  std::vector<double> sparsities;
};

// What is measured when no shape is asked for: the paper's layer, short batches in which code
// size decides, a batch that is no multiple of a vector, and one where compiling may not pay.
std::vector<WorkloadGrid> default_suite();

// Every combination of every grid, in order and without repetitions; all else from `common`.
std::vector<Workload> list_workloads(const std::vector<WorkloadGrid>& grids,
                                     const Workload& common);

// Throws Error when tensors (with dense weights if `dense`) would not fit this machine's memory.
void validate_memory(const Workload& workload, bool dense);

}  // namespace sparsejit::frontend
