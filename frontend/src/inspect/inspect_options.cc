// Options of `inspect`; see inspect_options.h. CLI11 checks what can be said of one option alone,
// validate_options what depends on several, validate_choice what depends on the plan. Each message
// names the option, the value seen and what was expected.
#include "inspect/inspect_options.h"

#include <fmt/format.h>

#include "arguments.h"
#include "output_file.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int32_t kMaxStoredWeights = INT32_MAX;  // value indices of taps are 32-bit

void add_section_options(CLI::App& app, ReportOptions& report) {
  const char* group = "Sections (all when none is named)";
  app.add_flag("--taps", report.taps, "taps of the chosen rows")->group(group);
  app.add_flag("--plan", report.plan, "the plan, code sizes and compile time")->group(group);
  app.add_flag("--listing", report.listing, "generated code, each instruction with its weight")
      ->group(group);
  app.add_flag("--histogram", report.histogram, "instructions by kind and by displacement")
      ->group(group);
}

void validate_mask_source(const InspectOptions& options) {
  std::vector<std::string> sources;
  if (!options.mask_path.empty()) {
    sources.push_back(fmt::format("the mask file \"{}\"", options.mask_path));
  }
  if (!options.random.empty()) sources.push_back("--random " + options.random);
  if (!options.conv.empty()) sources.push_back("--conv " + options.conv);
  if (sources.size() > 1) {
    throw_error("inspect: both {} and {} are given, expected one of them", sources[0], sources[1]);
  }
  if (sources.empty()) {
    throw_error(
        "inspect: no mask, expected a file MASK.smtx, --random OUTxIN or --conv INxOUTxKHxKW, the "
        "last two with --sparsity S");
  }
  const bool random = options.mask_path.empty();
  if (random && options.sparsity.empty()) {
    throw_error("{} has no --sparsity, expected one such as --sparsity 0.95", sources[0]);
  }
  if (random && !options.smtx_conv.empty()) {
    throw_error("--smtx-conv: {} is given with {}, expected it with a mask file only",
                options.smtx_conv, sources[0]);
  }
  if (!random && !options.sparsity.empty()) {
    throw_error("--sparsity: {} is given with {}, expected it with --random or --conv only",
                options.sparsity, sources[0]);
  }
  if (!random && options.seed) {
    throw_error("--seed: {} is given with {}, expected it with --random or --conv only",
                *options.seed, sources[0]);
  }
}

void validate_conv_options(const InspectOptions& options) {
  if (options.is_conv2d()) {
    if (options.image.empty()) {
      throw_error("--image: is missing, expected the size of the input images such as 7x7");
    }
    if (options.pitch) {
      throw_error("--pitch: {} is given for a convolution, expected it for linear layers only",
                  *options.pitch);
    }
    return;
  }
  const auto require_default = [](const char* option, const std::string& text,
                                  const std::string& initial) {
    if (text == initial) return;
    throw_error("{}: {} is given for a linear layer, expected it with --conv or --smtx-conv only",
                option, text);
  };
  const GeometryTexts initial;
  require_default("--image", options.image, "");
  require_default("--stride", options.geometry.stride, initial.stride);
  require_default("--padding", options.geometry.padding, initial.padding);
  require_default("--dilation", options.geometry.dilation, initial.dilation);
  require_default("--groups", options.geometry.groups, initial.groups);
}

Mask draw_mask(const MaskShape& shape, const InspectOptions& options) {
  const double sparsity =
      validate_sparsity(parse_number(options.sparsity, "--sparsity"), "--sparsity");
  const double stored =
      (1 - sparsity) * static_cast<double>(shape.rows()) * static_cast<double>(shape.cols());
  if (stored > kMaxStoredWeights) {
    throw_error("--sparsity: {} of {} stores {:.0f} weights, expected at most {}", sparsity,
                to_text(shape), stored, kMaxStoredWeights);
  }
  return Mask::random(shape, sparsity, static_cast<uint64_t>(options.seed.value_or(1)));
}

Mask make_linear_mask(const InspectOptions& options) {
  if (!options.mask_path.empty()) return Mask::load_smtx(options.mask_path);
  const auto [out, in] = parse_shape(options.random, "--random", "OUTxIN");
  return draw_mask({out, in}, options);
}

Mask make_conv_mask(const InspectOptions& options, int64_t groups) {
  if (!options.conv.empty()) {
    return draw_mask(parse_conv_shape(options.conv, "--conv", groups), options);
  }
  return parse_smtx_conv(Mask::load_smtx(options.mask_path), options.smtx_conv, "--smtx-conv");
}

}  // namespace

std::vector<Pass> InspectOptions::passes() const {
  if (pass == "forward") return {Pass::forward};
  if (pass == "backward") return {Pass::backward};
  return {Pass::forward, Pass::backward};
}

void add_inspect_options(CLI::App& app, InspectOptions& options) {
  app.add_option("mask", options.mask_path, "mask file MASK.smtx");
  app.add_option("--random", options.random, "draw a mask of this shape instead, OUTxIN");
  app.add_option("--conv", options.conv, "draw the mask of a convolution, INxOUTxKHxKW");
  app.add_option("--sparsity", options.sparsity, "share of weights a random mask leaves out");
  app.add_option("--seed", options.seed, "of the random mask (default 1)")
      ->check(whole_number(0, INT64_MAX));
  app.add_option("--batch", options.batch,
                 "samples, the length of the streams; of convolutions images")
      ->check(whole_number(1))
      ->capture_default_str();
  app.add_option("--pass", options.pass, "forward, backward or both")
      ->check(CLI::IsMember({"forward", "backward", "both"}))
      ->capture_default_str();
  app.add_option("--layout", options.layout,
                 "of the activations: feature-major (used in place; images: NCHW) or packed (tiles "
                 "made by the runtime; images: channels-last)")
      ->check(CLI::IsMember({"feature-major", "packed"}))
      ->capture_default_str();
  app.add_option("--pitch", options.pitch, "floats between features, feature-major only")
      ->check(whole_number(1));
  app.add_flag("--tiled", options.tiled,
               "the forward kernel in tiles, whatever the layer would run first");
  app.add_flag("--table", options.table,
               "likewise, kernels that read a table, for streams of up to 64 floats");
  app.add_option(
         "--isa", options.isa,
         "avx2 or avx512, for tiles, strips and short streams (default: the best of this machine)")
      ->check(CLI::IsMember({"avx2", "avx512"}));
  app.add_option("--row", options.choice.row, "row to list (default: the first with taps)")
      ->check(whole_number(0));
  app.add_option("--chunk", options.choice.chunk, "chunk to list")->check(whole_number(0));
  app.add_option("--max-lines", options.report.max_lines, "of taps and of code, 0: no limit")
      ->check(whole_number(0))
      ->capture_default_str();
  app.add_flag("--bytes", options.report.bytes, "list the bytes of each instruction too");
  app.add_option("--json", options.json, "write the whole report as JSON to a file, - for stdout");
  app.add_option("--smtx-conv", options.smtx_conv,
                 "ICxKHxKW: the mask file is a convolution's, its columns ordered kh, kw, ic")
      ->group("Convolutions");
  app.add_option("--image", options.image, "size of the input images, HxW")->group("Convolutions");
  add_conv_options(app, options.geometry);
  add_section_options(app, options.report);
}

void validate_options(const InspectOptions& options) {
  validate_mask_source(options);
  validate_conv_options(options);
  if (options.choice.row && options.choice.chunk) {
    throw_error("inspect: both --row {} and --chunk {} are given, expected one of them",
                *options.choice.row, *options.choice.chunk);
  }
  if (options.tiled && options.pass == "backward") {
    throw_error("--tiled: --pass backward has no kernels in tiles, expected forward or both");
  }
  if (options.tiled && options.table) {
    throw_error("inspect: both --tiled and --table are given, expected one of them");
  }
  if (options.json && *options.json != "-") validate_output_path(*options.json, "--json");
  if (!options.pitch) return;
  if (options.layout == "packed") {
    throw_error("--pitch: {} is given with --layout packed, expected it with feature-major only",
                *options.pitch);
  }
  if (*options.pitch < options.batch) {
    throw_error("--pitch: {} is shorter than a stream, expected at least the batch of {}",
                *options.pitch, options.batch);
  }
}

InspectedLayer make_layer(const InspectOptions& options) {
  if (!options.is_conv2d()) return InspectedLayer(make_linear_mask(options));
  const Conv2d conv = parse_conv2d(options.geometry);
  const ImageSize image = parse_image(options.image, "--image");
  return {make_conv_mask(options, conv.groups), conv, image};
}

void validate_choice(const ListingChoice& choice, const KernelInspection& kernel) {
  const int64_t rows = kernel.table().rows();
  const bool outputs = kernel.side == Pass::forward;
  const char* what = kernel.layer->conv ? (outputs ? "output channel" : "input stream")
                                        : (outputs ? "output feature" : "input feature");
  if (choice.row && rows == 0) {
    throw_error("--row: {} is given but the layer has no {}", *choice.row, what);
  }
  if (choice.row && *choice.row >= rows) {
    throw_error("--row: {} is not a row of the {} kernel, expected 0 to {}, one for each {}",
                *choice.row, to_text(kernel.plan.kind), rows - 1, what);
  }
  if (choice.chunk && *choice.chunk >= kernel.chunks()) {
    throw_error("--chunk: {} is not a chunk of the {} kernel, expected 0 to {}", *choice.chunk,
                to_text(kernel.plan.kind), kernel.chunks() - 1);
  }
}

LayerOptions layer_options(const InspectOptions& options) {
  LayerOptions layer;
  layer.batch = options.batch;
  layer.layout = options.layout == "packed" ? Layout::row_major : Layout::feature_major;
  layer.pitch = options.pitch.value_or(0);
  if (options.is_conv2d()) layer.image = parse_image(options.image, "--image");
  return layer;
}

}  // namespace sparsejit::frontend
