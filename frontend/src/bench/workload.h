// Workload: one line of a benchmark as plain data: a layer, a batch, a sparsity or a mask.
//
//     --shape 768x3072 --batch 64,902 --sparsity 0.9,0.95            four workloads, linear
//     --conv 128x256x3x3 --image 7x7 --batch 8 --sparsity 0.95       one, a convolution
//
// Nothing is allocated here; `Problem` (problem.h) turns a workload into tensors. A workload says
// all that a problem depends on, so the same workload and seed give the same numbers.
//
// Linear layers are convolutions wherever that spares a distinction: with a 1x1 kernel, over one
// image that is one row of `batch` pixels. `extents` says so in numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sparsejit/layer.h"

namespace sparsejit::frontend {

inline constexpr std::array<Pass, 2> kBothPasses = {Pass::forward, Pass::backward};

// What a convolution has beyond a linear layer.
struct ConvGeometry {
  PerAxis kernel = 1;
  Conv2d conv;  // padding 'same' as numbers
  ImageSize image;
  bool operator==(const ConvGeometry&) const = default;
};

struct Workload {
  int64_t in = 0;  // features, or channels of all groups
  int64_t out = 0;
  int64_t batch = 0;  // samples or images
  double sparsity = 0;
  std::optional<ConvGeometry> conv{};
  std::optional<Mask> mask{};  // empty: a random one
  std::string mask_name{};     // of the file it is from, without folder and ending
  Layout layout = Layout::feature_major;
  bool tight_pitch = false;   // linear, feature-major: pitch = batch instead of stream_pitch(batch)
  bool bias = false;          // bias and its gradient are part of the work, on every engine
  bool want_dx = true;        // false: the first layer of a network
  bool dense_direct = false;  // convolutions: dense without Winograd's algorithm
  uint64_t seed = 1;
  int64_t occurrences = 1;  // of the layer in the network of a suite
  bool operator==(const Workload&) const = default;
};

// Pixels of the tensors on both sides; see the head of this file.
struct Extents {
  int64_t images = 1;
  ImageSize input;
  ImageSize output;
  int64_t input_pixels() const { return input.height * input.width; }
  int64_t output_pixels() const { return output.height * output.width; }
};
Extents extents(const Workload& workload);

MaskShape weight_shape(const Workload& workload);

// "768x3072", "128x256x3x3": in x out, and the kernel.
std::string layer_name(const Workload& workload);
// "768x3072 batch 902", "128x256x3x3 on 7x7, padding 1, batch 8"
std::string layer_text(const Workload& workload);
// The same without the batch: what is distinct about a layer of a network.
std::string layer_geometry(const Workload& workload);
const char* layout_name(const Workload& workload, Layout layout);

// Distance between features of the feature-major tensors of a linear layer, in floats.
int64_t feature_pitch(const Workload& workload);

// Useful floating-point operations of a pass over `nnz` stored weights: one product for each output
// pixel, padding included, as is usual for dense; the bias is not counted. The same number is used
// for every engine, dense included, so GF/s compare like times do.
double flops(const Workload& workload, int64_t nnz, Pass pass);
// Products of one stored weight.
double products_per_weight(const Workload& workload);

// Layers, batches and sparsities that are measured together, all combinations.
struct WorkloadGrid {
  std::vector<Workload> layers;  // batch and sparsity are replaced
  std::vector<int64_t> batches;
  std::vector<double> sparsities;
};

// A linear layer, as a start for WorkloadGrid::layers.
Workload linear_layer(int64_t in, int64_t out);

// What is measured when no layer is asked for: the paper's layer, short batches in which code
// size decides, a batch that is no multiple of a vector, and one where compiling may not pay.
std::vector<WorkloadGrid> default_suite();

// Every combination of every grid, in order and without repetitions.
std::vector<Workload> list_workloads(const std::vector<WorkloadGrid>& grids);

// Throws Error when tensors (with dense weights if `dense`) would not fit this machine's memory.
void validate_memory(const Workload& workload, bool dense);

}  // namespace sparsejit::frontend
