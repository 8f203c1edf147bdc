// Layers times batches times sparsities; see workload_options.h.
#include "bench/workload_options.h"

#include <array>

#include "arguments.h"
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

std::vector<double> parse_sparsities(const BenchTexts& texts,
                                     const std::vector<double>& otherwise) {
  if (!texts.sparsities) return otherwise;
  std::vector<double> sparsities = parse_number_list(*texts.sparsities, "--sparsity");
  for (const double sparsity : sparsities) validate_sparsity(sparsity, "--sparsity");
  return sparsities;
}

Mask load_mask(const std::string& path) {
  try {
    Mask mask = Mask::load_smtx(path);
    if (mask.rows() > 0 && mask.cols() > 0) return mask;
    throw_error("{}: the mask is {}, expected at least one row and one column", path,
                to_text(mask.shape()));
  } catch (const Error& error) {
    throw_error("--mask: {}", error.what());
  }
}

std::vector<Workload> list_mask_workloads(const BenchTexts& texts) {
  refuse(typed(texts.sparsities), "--sparsity", "none with --mask, whose file says it");
  refuse(typed(texts.shapes), "--shape", "none with --mask");
  refuse(typed(texts.conv.convs), "--conv", "none with --mask, but --smtx-conv");
  const Mask matrix = load_mask(*texts.mask);
  Workload layer = linear_layer(matrix.cols(), matrix.rows());
  layer.mask = matrix;
  if (texts.smtx_conv) layer = make_smtx_conv_layer(texts.conv, *texts.smtx_conv, matrix);
  const std::vector<int64_t> batches =
      parse_batches(texts, {layer.conv ? kConvBatch : kLinearBatch});
  return list_workloads({{{layer}, batches, {matrix.sparsity()}}});
}

std::vector<Workload> list_suite_workloads(const BenchTexts& texts, Suite suite) {
  refuse(typed(texts.shapes), "--shape", "none with --suite");
  refuse(typed(texts.conv.convs), "--conv", "none with --suite");
  refuse(typed(texts.mask), "--mask", "none with --suite");
  if (!is_network(suite)) {
    refuse(typed(texts.batches), "--batch", "none with --suite paper");
    refuse(typed(texts.sparsities), "--sparsity", "none with --suite paper");
    return list_paper_workloads();
  }
  const std::vector<int64_t> batches = parse_batches(texts, {default_batch(suite)});
  const std::vector<double> sparsities = parse_sparsities(texts, {kNetworkSparsity});
  if (batches.size() > 1) refuse(typed(texts.batches), "--batch", "one number with --suite");
  if (sparsities.size() > 1) {
    refuse(typed(texts.sparsities), "--sparsity", "one number with --suite");
  }
  return list_network(suite, batches.front(), sparsities.front());
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
  if (grids.empty()) grids = default_suite();
  for (WorkloadGrid& grid : grids) {
    grid.batches = parse_batches(texts, grid.batches);
    grid.sparsities = parse_sparsities(texts, grid.sparsities);
  }
  return list_workloads(grids);
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

// What all workloads of a run have in common.
void apply_common_options(const BenchTexts& texts, std::vector<Workload>& workloads) {
  const Layout layout = parse_layout(texts.layout);
  const bool tight_pitch = parse_tight_pitch(texts.pitch);
  const auto seed = static_cast<uint64_t>(parse_whole_number(texts.seed, "--seed", 0, kMaxSeed));
  for (Workload& workload : workloads) {
    workload.layout = layout;
    workload.tight_pitch = tight_pitch && !workload.conv;
    workload.bias = texts.bias;
    workload.want_dx = workload.want_dx && !texts.no_dx;
    workload.seed = seed;
  }
}

}  // namespace

std::vector<Workload> parse_workloads(const BenchTexts& texts, std::optional<Suite> suite) {
  if (texts.conv.convs.empty() && !texts.smtx_conv) {
    refuse_geometry(texts.conv, "--conv or --smtx-conv with it");
  }
  if (!texts.mask) refuse(typed(texts.smtx_conv), "--smtx-conv", "--mask with it");
  std::vector<Workload> workloads = suite        ? list_suite_workloads(texts, *suite)
                                    : texts.mask ? list_mask_workloads(texts)
                                                 : list_layer_workloads(texts);
  apply_common_options(texts, workloads);
  return workloads;
}

}  // namespace sparsejit::frontend
