// The report of `inspect` for programs: the same facts as the text, never shortened.
//
//     {"mask": {...}, "conv": {...} of a convolution, "machine": {...}, "batch": 902,
//      "passes": [{"pass", "kernels": [
//          {"kind", "rows": "outputs" | "inputs", "plan": {...}, "images_per_slab",
//           "code_bytes", "chunks": [...],
//           "instructions": [...], "displacements": [...], "bad",
//           "listing": {"row" | "chunk", "pieces": [{"chunk", "begin", "end",
//                       "instructions": [{"at", "bytes", "text", "annotation", ...}]}]}}]}]}
//
// A pass for which no code can be made has no kernels and a "reason".
#pragma once

#include <nlohmann/json.hpp>

#include "inspect/inspection.h"
#include "sparsejit/mask.h"

namespace sparsejit::frontend {

nlohmann::ordered_json mask_json(const InspectedLayer& layer);
nlohmann::ordered_json conv_json(const InspectedConv& conv);
nlohmann::ordered_json machine_json(const MachineModel& machine);
nlohmann::ordered_json pass_json(const PassInspection& pass, const ListingChoice& choice);

}  // namespace sparsejit::frontend
