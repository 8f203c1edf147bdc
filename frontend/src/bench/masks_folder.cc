// Files to layers; see masks_folder.h.
#include "bench/masks_folder.h"

#include <algorithm>
#include <filesystem>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> list_smtx_files(const std::string& folder, std::string_view option) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".smtx") paths.push_back(entry->path().string());
  }
  if (error) {
    throw_error("{}: cannot list \"{}\" ({}), expected a folder of .smtx files", option, folder,
                error.message());
  }
  if (paths.empty()) {
    throw_error("{}: \"{}\" has no .smtx file, expected at least one", option, folder);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Mask load_layer_mask(const std::string& path, std::string_view option) {
  try {
    Mask mask = Mask::load_smtx(path);
    if (mask.rows() > 0 && mask.cols() > 0) return mask;
    throw_error("{}: the mask is {}, expected at least one row and one column", path,
                to_text(mask.shape()));
  } catch (const Error& error) {
    throw_error("{}: {}", option, error.what());
  }
}

std::string mask_name(const std::string& path) { return fs::path(path).stem().string(); }

Workload masked_linear_layer(const Mask& matrix) {
  Workload layer = linear_layer(matrix.cols(), matrix.rows());
  layer.mask = matrix;
  layer.sparsity = matrix.sparsity();
  return layer;
}

std::vector<Workload> list_folder_layers(const std::string& folder, std::string_view option) {
  std::vector<Workload> layers;
  for (const std::string& path : list_smtx_files(folder, option)) {
    layers.push_back(masked_linear_layer(load_layer_mask(path, option)));
    layers.back().mask_name = mask_name(path);
  }
  return layers;
}

}  // namespace sparsejit::frontend
