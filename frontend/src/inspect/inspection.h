// Inspection: everything `inspect` knows about one pass, as plain data, before any of it is
// printed as text or JSON.
//
//     InspectedLayer + options  --inspect_passes-->  one PassInspection a pass, its kernels in
//     order KernelInspection + what to list  --list_code-->  Listing
//
// The plans are those a layer reports, so what is shown is what would run. Code is emitted once
// more, with notes; it is never executed, and a machine without AVX2 can inspect too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspect/disassembly.h"
#include "inspect/inspected_layer.h"
#include "inspect/row_code.h"
#include "sparsejit/emit.h"
#include "sparsejit/layer.h"

namespace sparsejit::frontend {

// One step of a pass.
struct KernelInspection {
  std::shared_ptr<const InspectedLayer> layer;
  Pass side = Pass::forward;  // whose rows the kernel walks
  int64_t images_per_slab = 0;
  Plan plan;
  KernelCode code;          // with notes
  double emit_seconds = 0;  // median, without notes, as layers compile

  const TapTable& table() const { return layer->of(side, plan.unshifted()); }
  int64_t chunks() const { return static_cast<int64_t>(plan.chunks.size()); }
};

struct PassInspection {
  Pass pass = Pass::forward;
  std::vector<KernelInspection> kernels;
  std::string reason;  // why there are no kernels
};

struct InspectRequest {
  LayerOptions options;  // batch, layout, pitch and image; its engine and runtime are replaced
  std::vector<Pass> passes;
  bool tiled = false;  // the forward kernel in tiles, whatever the layer would run first
  bool table = false;  // likewise, kernels that read a table
};

std::vector<PassInspection> inspect_passes(const std::shared_ptr<const InspectedLayer>& layer,
                                           const InspectRequest& request,
                                           const MachineModel& machine);

// What to list: one row or one chunk.
struct ListingChoice {
  std::optional<int64_t> row;
  std::optional<int64_t> chunk;
};

struct Listing {
  ListingChoice choice;   // exactly one is set, none for a kernel without rows
  int64_t first_row = 0;  // the rows concerned
  int64_t rows = 0;
  std::vector<RowCode> pieces;  // of a row one a chunk, of a chunk a single one
};

// `choice` is valid for the kernel; without any choice it is the first row with taps, else row 0.
Listing list_code(const KernelInspection& kernel, const ListingChoice& choice);

}  // namespace sparsejit::frontend
