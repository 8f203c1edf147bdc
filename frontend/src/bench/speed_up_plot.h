// The plot of a report: speed-up over dense against sparsity, as SVG.
//
//     title, machine                                legend
//     768x3072 batch 902, 1 thread
//       forward          backward         total         one panel for each pass
//     |      ,o        |      ,o        |      ,o
//     |___,o'____      |___,o'____      |___,o'____     ____ dense
//
// One row of panels for each layer and number of threads. Colors tell engines apart, solid lines
// with full dots are hot, dashed ones with hollow dots cold. Real masks are dots without lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace sparsejit::frontend {

// Error (naming `option`) when there is nothing to plot: no dense engine and another to compare
// with it, or one sparsity only.
void validate_plottable(const std::set<double>& sparsities, bool compared, std::string_view option);

// Errors likewise.
std::string plot_speed_ups(const nlohmann::ordered_json& report, std::string_view option);

}  // namespace sparsejit::frontend
