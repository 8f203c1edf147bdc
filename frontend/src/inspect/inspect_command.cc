// `sparsejit inspect`: what the compiler makes of a layer's mask, for people who tune kernels.
//
//     mask -> taps -> for each pass its kernels: plan, code -> sections of text, or JSON
//
// Everything is known before the first character is printed, so wrong input never leaves half a
// report behind. Nothing generated is executed.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "inspect/histogram.h"
#include "inspect/inspect_options.h"
#include "inspect/inspection.h"
#include "inspect/report.h"
#include "inspect/report_json.h"
#include "output_file.h"

namespace sparsejit::frontend {
namespace {

struct Report {
  std::shared_ptr<const InspectedLayer> layer;
  MachineModel machine;
  std::vector<PassInspection> passes;
};

Report inspect(const InspectOptions& options) {
  Report inspected;
  inspected.layer = std::make_shared<const InspectedLayer>(make_layer(options));
  inspected.machine = detect_machine();
  if (options.isa == "avx2") inspected.machine.unrolled_isa = inspected.machine.isa;
  if (options.isa == "avx512") inspected.machine.unrolled_isa = avx512_isa();
  inspected.passes = inspect_passes(inspected.layer,
                                    {.options = layer_options(options),
                                     .passes = options.passes(),
                                     .tiled = options.tiled,
                                     .table = options.table},
                                    inspected.machine);
  for (const PassInspection& pass : inspected.passes) {
    for (const KernelInspection& kernel : pass.kernels) validate_choice(options.choice, kernel);
  }
  return inspected;
}

std::string head_text(const InspectOptions& options, const Report& inspected) {
  const MachineModel& machine = inspected.machine;
  const bool is_conv2d = inspected.layer->conv.has_value();
  std::string text = mask_text(*inspected.layer);
  if (is_conv2d) text += conv_text(*inspected.layer->conv);
  text += fmt::format("{:<10} {} {}, {}", "batch", options.batch, is_conv2d ? "images" : "samples",
                      options.layout);
  if (!is_conv2d && options.layout != "packed") {
    text += fmt::format(", pitch {} floats", options.pitch.value_or(stream_pitch(options.batch)));
  }
  return text + fmt::format("\n{:<10} {}, L1 {} KiB, L2 {} KiB, L3 {} KiB{}\n", "machine",
                            machine.cpu, machine.l1_bytes >> 10, machine.l2_bytes >> 10,
                            machine.l3_bytes >> 10,
                            machine.avx2_fma ? "" : "; no AVX2 and FMA, layers run portable");
}

std::string kernel_text(const KernelInspection& kernel, const InspectOptions& options) {
  ReportOptions report = options.report;
  if (!report.taps && !report.plan && !report.listing && !report.histogram) {
    report.taps = report.plan = report.listing = report.histogram = true;
  }
  const Listing listing = list_code(kernel, options.choice);
  std::string text;
  if (report.plan) text += '\n' + plan_section(kernel);
  if (report.taps) text += '\n' + taps_section(kernel, listing, report);
  if (report.listing) text += '\n' + listing_section(kernel, listing, report);
  if (report.histogram) text += '\n' + histogram_section(count_instructions(kernel.code));
  return text;
}

std::string report_text(const InspectOptions& options, const Report& inspected) {
  std::string text = head_text(options, inspected);
  for (const PassInspection& pass : inspected.passes) {
    if (pass.kernels.empty()) {
      text += fmt::format("\n==== {}: no code, {} ====\n", to_text(pass.pass), pass.reason);
    }
    for (size_t i = 0; i < pass.kernels.size(); ++i) {
      const KernelInspection& kernel = pass.kernels[i];
      text += fmt::format("\n==== {}, step {} of {}: {}, rows are {} ====\n", to_text(pass.pass),
                          i + 1, pass.kernels.size(), to_text(kernel.plan.kind),
                          kernel.side == Pass::forward ? "outputs" : "inputs");
      text += kernel_text(kernel, options);
    }
  }
  return text;
}

std::string report_json(const InspectOptions& options, const Report& inspected) {
  nlohmann::ordered_json json = {{"mask", mask_json(*inspected.layer)}};
  if (inspected.layer->conv) json["conv"] = conv_json(*inspected.layer->conv);
  json["machine"] = machine_json(inspected.machine);
  json["batch"] = options.batch;
  json["passes"] = nlohmann::ordered_json::array();
  for (const PassInspection& pass : inspected.passes) {
    json["passes"].push_back(pass_json(pass, options.choice));
  }
  return json.dump(2) + '\n';
}

void run_inspect(const InspectOptions& options) {
  validate_options(options);
  const Report inspected = inspect(options);
  if (options.json && *options.json == "-") {
    fmt::print("{}", report_json(options, inspected));
    return;
  }
  const std::string text = report_text(options, inspected);
  if (options.json) {
    write_file_atomically(*options.json, report_json(options, inspected), "--json");
  }
  fmt::print("{}", text);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("inspect", "Shows taps, plan and generated code of a mask");
  auto options = std::make_shared<InspectOptions>();
  add_inspect_options(*command, *options);
  command->callback([options] { run_inspect(*options); });
}

}  // namespace sparsejit::frontend
