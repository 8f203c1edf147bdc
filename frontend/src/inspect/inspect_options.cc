// Options of `inspect`; see inspect_options.h. CLI11 checks what can be said of one option alone,
// validate_options what depends on several, validate_choice what depends on the plan. Each message
// names the option, the value seen and what was expected.
#include "inspect/inspect_options.h"

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
  const bool random = !options.random.empty();
  if (random && !options.mask_path.empty()) {
    throw_error(
        "inspect: both the mask file \"{}\" and --random {} are given, expected one of them",
        options.mask_path, options.random);
  }
  if (!random && options.mask_path.empty()) {
    throw_error("inspect: no mask, expected a file MASK.smtx or --random OUTxIN --sparsity S");
  }
  if (random && options.sparsity.empty()) {
    throw_error("--random: {} has no --sparsity, expected one such as --sparsity 0.95",
                options.random);
  }
  if (!random && !options.sparsity.empty()) {
    throw_error("--sparsity: {} is given with the mask file \"{}\", expected it with --random only",
                options.sparsity, options.mask_path);
  }
  if (!random && options.seed) {
    throw_error("--seed: {} is given with the mask file \"{}\", expected it with --random only",
                *options.seed, options.mask_path);
  }
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
  app.add_option("--sparsity", options.sparsity, "share of weights a random mask leaves out");
  app.add_option("--seed", options.seed, "of the random mask (default 1)")
      ->check(whole_number(0, INT64_MAX));
  app.add_option("--batch", options.batch, "samples, the length of the streams")
      ->check(whole_number(1))
      ->capture_default_str();
  app.add_option("--pass", options.pass, "forward, backward or both")
      ->check(CLI::IsMember({"forward", "backward", "both"}))
      ->capture_default_str();
  app.add_option("--layout", options.layout,
                 "of the activations: feature-major (used in place) or packed (tiles made by the "
                 "runtime)")
      ->check(CLI::IsMember({"feature-major", "packed"}))
      ->capture_default_str();
  app.add_option("--pitch", options.pitch, "floats between features, feature-major only")
      ->check(whole_number(1));
  app.add_option("--row", options.choice.row, "row to list (default: the first with taps)")
      ->check(whole_number(0));
  app.add_option("--chunk", options.choice.chunk, "chunk to list")->check(whole_number(0));
  app.add_option("--max-lines", options.report.max_lines, "of taps and of code, 0: no limit")
      ->check(whole_number(0))
      ->capture_default_str();
  app.add_flag("--bytes", options.report.bytes, "list the bytes of each instruction too");
  app.add_option("--json", options.json, "write the whole report as JSON to a file, - for stdout");
  add_section_options(app, options.report);
}

void validate_options(const InspectOptions& options) {
  validate_mask_source(options);
  if (options.choice.row && options.choice.chunk) {
    throw_error("inspect: both --row {} and --chunk {} are given, expected one of them",
                *options.choice.row, *options.choice.chunk);
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

Mask make_mask(const InspectOptions& options) {
  if (options.random.empty()) return Mask::load_smtx(options.mask_path);
  const auto [out, in] = parse_shape(options.random, "--random", "OUTxIN");
  const double sparsity =
      validate_sparsity(parse_number(options.sparsity, "--sparsity"), "--sparsity");
  const double stored = (1 - sparsity) * static_cast<double>(out) * static_cast<double>(in);
  if (stored > kMaxStoredWeights) {
    throw_error("--random: {} at sparsity {} stores {:.0f} weights, expected at most {}",
                options.random, sparsity, stored, kMaxStoredWeights);
  }
  return Mask::random({out, in}, sparsity, static_cast<uint64_t>(options.seed.value_or(1)));
}

void validate_choice(const ListingChoice& choice, const KernelInspection& kernel) {
  const int64_t rows = kernel.table().rows();
  const char* what = kernel.side == Pass::forward ? "output" : "input";
  if (choice.row && rows == 0) {
    throw_error("--row: {} is given but the layer has no {} feature", *choice.row, what);
  }
  if (choice.row && *choice.row >= rows) {
    throw_error(
        "--row: {} is not a row of the {} kernel, expected 0 to {}, one for each {} feature",
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
  return layer;
}

}  // namespace sparsejit::frontend
