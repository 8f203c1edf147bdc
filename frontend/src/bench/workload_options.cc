// Layers times batches times sparsities; see workload_options.h.
#include "bench/workload_options.h"

#include <array>

#include "arguments.h"
#include "bench/masks_folder.h"
#include "bench/option_values.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxBatch = INT32_MAX;
constexpr int64_t kMaxSeed = int64_t{1} << 53;  // whole numbers a double holds exactly
constexpr int64_t kLinearBatch = 128;
constexpr int64_t kConvBatch = 16;
constexpr double kNetworkSparsity = 0.95;

std::vector<int64_t> parse_batches(const BenchTexts& texts, const std::vector<int64_t>& otherwise) {
  return texts.batches ? parse_whole_numbers(*texts.batches, "--batch", 1, kMaxBatch) : otherwise;
}

std::vector<double> choose_sparsities(const BenchTexts& texts,
                                      const std::vector<double>& otherwise) {
  return texts.sparsities ? parse_sparsities(*texts.sparsities, "--sparsity") : otherwise;
}

std::vector<Workload> list_mask_workloads(const BenchTexts& texts) {
  refuse(typed(texts.sparsities), "--sparsity", "none with --mask, whose file says it");
  refuse(typed(texts.shapes), "--shape", "none with --mask");
  refuse(typed(texts.conv.convs), "--conv", "none with --mask, but --smtx-conv");
  const Mask matrix = load_layer_mask(*texts.mask, "--mask");
  Workload layer = texts.smtx_conv ? make_smtx_conv_layer(texts.conv, *texts.smtx_conv, matrix)
                                   : masked_linear_layer(matrix);
  layer.mask_name = mask_name(*texts.mask);
  const std::vector<int64_t> batches =
      parse_batches(texts, {layer.conv ? kConvBatch : kLinearBatch});
  return list_workloads({{{layer}, batches, {matrix.sparsity()}}});
}

// Batches and sparsities that were typed replace those of the grids.
std::vector<Workload> list_grid_workloads(const BenchTexts& texts,
                                          std::vector<WorkloadGrid> grids) {
  for (WorkloadGrid& grid : grids) {
    grid.batches = parse_batches(texts, grid.batches);
    grid.sparsities = choose_sparsities(texts, grid.sparsities);
  }
  return list_workloads(grids);
}

std::vector<Workload> list_masks_workloads(const BenchTexts& texts) {
  refuse(typed(texts.sparsities), "--sparsity", "none with --suite dlmc, whose files say it");
  if (!texts.masks) throw_error("--masks: none given, expected a folder of .smtx files with dlmc");
  std::vector<Workload> workloads;
  const std::vector<int64_t> batches = parse_batches(texts, {default_batch(Suite::dlmc)});
  for (const Workload& layer : list_folder_layers(*texts.masks, "--masks")) {
    for (const Workload& workload : list_workloads({{{layer}, batches, {layer.sparsity}}})) {
      workloads.push_back(workload);
    }
  }
  return workloads;
}

std::vector<Workload> list_network_workloads(const BenchTexts& texts, Suite suite) {
  const std::vector<int64_t> batches = parse_batches(texts, {default_batch(suite)});
  const std::vector<double> sparsities = choose_sparsities(texts, {kNetworkSparsity});
  if (batches.size() > 1) refuse(typed(texts.batches), "--batch", "one number with a network");
  if (sparsities.size() > 1) {
    refuse(typed(texts.sparsities), "--sparsity", "one number with a network");
  }
  return list_network(suite, batches.front(), sparsities.front());
}

std::vector<Workload> list_suite_workloads(const BenchTexts& texts, Suite suite) {
  refuse(typed(texts.shapes), "--shape", "none with --suite");
  refuse(typed(texts.conv.convs), "--conv", "none with --suite");
  refuse(typed(texts.mask), "--mask", "none with --suite");
  if (is_network(suite)) return list_network_workloads(texts, suite);
  switch (suite) {
    case Suite::dlmc:
      return list_masks_workloads(texts);
    case Suite::small:
      return list_grid_workloads(texts, small_grids());
    default:
      refuse(typed(texts.batches), "--batch", "none with --suite paper");
      return list_grid_workloads(texts, paper_grids());
  }
}

std::vector<Workload> list_layer_workloads(const BenchTexts& texts) {
  const std::vector<double> sparsities = {0.8, 0.9, 0.95, 0.98, 0.99};
  std::vector<WorkloadGrid> grids;
  if (!texts.shapes.empty()) grids.push_back({{}, {kLinearBatch}, sparsities});
  for (const std::string& text : texts.shapes) {
    const auto [in, out] = parse_shape(text, "--shape");
    grids.front().layers.push_back(linear_layer(in, out));
  }
  if (!texts.conv.convs.empty()) {
    grids.push_back({list_conv_layers(texts.conv), {kConvBatch}, sparsities});
  }
  return list_grid_workloads(texts, grids.empty() ? default_suite() : grids);
}

// Linear and convolutional names of the layouts mean the same.
Layout parse_layout(const std::string& text) {
  constexpr std::array<const char*, 4> kLayouts = {"feature-major", "nchw", "row-major",
                                                   "channels-last"};
  return parse_word(text, "--layout", kLayouts) < 2 ? Layout::feature_major : Layout::row_major;
}

bool parse_tight_pitch(const std::string& text) {
  constexpr std::array<const char*, 2> kPitches = {"recommended", "tight"};
  return parse_word(text, "--pitch", kPitches) == 1;
}

bool parse_dense_direct(const std::string& text) {
  constexpr std::array<const char*, 2> kAlgorithms = {"fastest", "direct"};
  return parse_word(text, "--dense", kAlgorithms) == 1;
}

// What all workloads of a run have in common.
void apply_common_options(const BenchTexts& texts, std::vector<Workload>& workloads) {
  const Layout layout = parse_layout(texts.layout);
  const bool tight_pitch = parse_tight_pitch(texts.pitch);
  const bool dense_direct = parse_dense_direct(texts.dense);
  const auto seed = static_cast<uint64_t>(parse_whole_number(texts.seed, "--seed", 0, kMaxSeed));
  for (Workload& workload : workloads) {
    workload.layout = layout;
    workload.tight_pitch = tight_pitch && !workload.conv;
    workload.bias = texts.bias;
    workload.want_dx = workload.want_dx && !texts.no_dx;
    workload.dense_direct = dense_direct;
    workload.seed = seed;
  }
}

}  // namespace

std::vector<Workload> parse_workloads(const BenchTexts& texts, std::optional<Suite> suite) {
  if (texts.conv.convs.empty() && !texts.smtx_conv) {
    refuse_geometry(texts.conv, "--conv or --smtx-conv with it");
  }
  if (!texts.mask) refuse(typed(texts.smtx_conv), "--smtx-conv", "--mask with it");
  if (suite != Suite::dlmc) refuse(typed(texts.masks), "--masks", "--suite dlmc with it");
  std::vector<Workload> workloads = suite        ? list_suite_workloads(texts, *suite)
                                    : texts.mask ? list_mask_workloads(texts)
                                                 : list_layer_workloads(texts);
  apply_common_options(texts, workloads);
  return workloads;
}

}  // namespace sparsejit::frontend
