// Options of `inspect`: read by CLI11, checked here, turned into a layer and its options.
//
//     add_inspect_options -> validate_options -> make_layer, layer_options -> (plans) ->
//     validate_choice
//
// Every check comes before anything is printed or written.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conv_arguments.h"
#include "inspect/inspection.h"
#include "inspect/report.h"
#include "sparsejit/mask.h"

namespace sparsejit::frontend {

struct InspectOptions {
  std::string mask_path;
  std::string random;      // OUTxIN
  std::string conv;        // INxOUTxKHxKW, of a random mask of a convolution
  std::string smtx_conv;   // ICxKHxKW, what the columns of the mask file stand for
  std::string image;       // HxW, of convolutions
  GeometryTexts geometry;  // of convolutions
  std::string sparsity;    // of a random mask
  std::optional<int64_t> seed;
  int64_t batch = 256;
  std::string pass = "both";
  std::string layout = "feature-major";
  std::optional<int64_t> pitch;
  bool tiled = false;  // forward kernels of the tiled family
  bool table = false;  // kernels of the table family
  std::string
      isa;  // avx2 or avx512, of tiles, strips and short streams; empty: as this machine runs them
  ListingChoice choice;
  ReportOptions report{.taps = false, .plan = false, .listing = false, .histogram = false};
  std::optional<std::string> json;

  std::vector<Pass> passes() const;
  bool is_conv2d() const { return !conv.empty() || !smtx_conv.empty(); }
};

void add_inspect_options(CLI::App& app, InspectOptions& options);

// Everything that can be checked without the mask. Throws Error.
void validate_options(const InspectOptions& options);

// The layer of the mask read or drawn.
InspectedLayer make_layer(const InspectOptions& options);

// Row and chunk numbers against a kernel. Throws Error.
void validate_choice(const ListingChoice& choice, const KernelInspection& kernel);

// The layer whose kernels are shown.
LayerOptions layer_options(const InspectOptions& options);

}  // namespace sparsejit::frontend
