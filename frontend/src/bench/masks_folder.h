// Layers from .smtx files, such as those of the Deep Learning Matrix Collection: one file, or all
// of a folder in the order of their names.
//
// A file is a matrix whose rows are outputs; it becomes a linear layer, as benchmarks of sparse
// times dense products use such files (a 1x1 convolution is the same work, with pixels for
// samples). Errors name the option, the path and what was expected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"

namespace sparsejit::frontend {

// Error unless the file holds a mask with at least one row and one column.
Mask load_layer_mask(const std::string& path, std::string_view option);

// "masks/rn50_0.9.smtx" -> "rn50_0.9"
std::string mask_name(const std::string& path);

// Without batch.
Workload masked_linear_layer(const Mask& matrix);

// One layer for each file of the folder that ends in .smtx; Error when there is none.
std::vector<Workload> list_folder_layers(const std::string& folder, std::string_view option);

}  // namespace sparsejit::frontend
