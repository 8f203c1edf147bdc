// `sparsejit bench`: options in, table and JSON out. Read bench_run.h for what is done in between.
//
// The table goes to standard output as workloads finish, or to standard error when the JSON takes
// standard output (--json -). Progress is one line on standard error, only on a terminal. Wrong
// options and an unwritable JSON path are refused before anything is measured.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "bench/bench_json.h"
#include "bench/bench_run.h"
#include "bench/bench_summary.h"
#include "bench/bench_table.h"
#include "bench/network_table.h"
#include "commands.h"
#include "output_file.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr const char* kClearLine = "\r\033[K";

// One line on a terminal that is rewritten in place; nothing elsewhere.
class ProgressLine {
 public:
  ProgressLine() : enabled_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  void show(const std::string& text) const {
    if (enabled_) fmt::print(stderr, "{}{}", kClearLine, text);
  }
  void clear() const {
    if (enabled_) fmt::print(stderr, "{}", kClearLine);
  }

 private:
  bool enabled_;
};

void print(std::FILE* stream, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0) {
    throw_error("bench: cannot write to {}",
                stream == stdout ? "standard output" : "standard error");
  }
}

// Runs every workload and prints its part of the table as soon as it is done.
std::vector<WorkloadResults> run_workloads(const BenchOptions& options, const BenchMachine& machine,
                                           std::FILE* table) {
  const ProgressLine line;
  std::vector<WorkloadResults> groups;
  if (options.network) print(table, network_header(*options.network, options.workloads.front()));
  for (size_t i = 0; i < options.workloads.size(); ++i) {
    const auto progress = [&](const std::string& step) {
      line.show(fmt::format("[{}/{}] {}", i + 1, options.workloads.size(), step));
    };
    for (WorkloadResults& group : run_workload(options.workloads[i], options, progress)) {
      line.clear();
      print(table, options.network ? network_lines(group) : workload_table(group, machine));
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

void run_bench(const BenchTexts& texts) {
  const BenchOptions options = parse_bench_options(texts);
  const bool json_to_stdout = options.json == "-";
  if (options.json && !json_to_stdout) validate_output_path(*options.json, "--json");

  std::FILE* table = json_to_stdout ? stderr : stdout;
  const BenchMachine machine = measure_machine();
  print(table, machine_line(machine) + legend());
  const std::vector<WorkloadResults> groups = run_workloads(options, machine, table);
  if (options.network) print(table, network_totals_table(network_totals(groups)));
  print(table, summary(groups));
  if (!options.json) return;
  const std::string json = to_json(machine, groups, options.network);
  if (json_to_stdout) {
    print(stdout, json);
  } else {
    write_file_atomically(*options.json, json, "--json");
  }
}

using OptionText = std::optional<std::string>;

void add_optional(CLI::App& command, const char* name, OptionText& text, const char* description) {
  command.add_option_function<std::string>(
      name, [&text](const std::string& typed) { text = typed; }, description);
}

void add_list(CLI::App& command, const char* name, std::vector<std::string>& texts,
              const char* description) {
  command.add_option(name, texts, description)->delimiter(',')->allow_extra_args(false);
}

void add_layer_options(CLI::App& command, BenchTexts& texts) {
  add_list(command, "--shape", texts.shapes,
           "Linear layers, INxOUT, a list; default: a small suite of shapes");
  add_list(command, "--conv", texts.conv.convs,
           "Convolutions, INxOUTxKHxKW with all input channels, a list");
  add_optional(command, "--image", texts.conv.image, "Input of the convolutions, HxW");
  add_conv_options(command, texts.conv.geometry);
  add_optional(command, "--mask", texts.mask, "A layer with the mask of this .smtx file");
  add_optional(command, "--smtx-conv", texts.smtx_conv,
               "ICxKHxKW: the file's columns are a convolution's, channels innermost");
  add_optional(command, "--suite", texts.suite,
               "All layers of resnet18, resnet50 or bert with their sum, or the paper's workloads");
}

void add_workload_options(CLI::App& command, BenchTexts& texts) {
  add_optional(command, "--batch", texts.batches,
               "Samples or images, a list; default 128 with --shape, 16 with --conv");
  add_optional(command, "--sparsity", texts.sparsities,
               "Share of weights left out, a list; default 0.8,0.9,0.95,0.98,0.99 with --shape and "
               "--conv, 0.95 with --suite");
  add_optional(
      command, "--engines", texts.engines,
      "native,interpreted,portable,paper_loop,dense or some of them; default: all, without "
      "portable where it is slow");
  add_optional(command, "--json", texts.json,
               "Writes the results to this file; - for standard output");
  command.add_option("--threads", texts.threads, "Threads, a list")->capture_default_str();
  command
      .add_option("--layout", texts.layout,
                  "Of activations: feature-major or row-major, of images nchw or channels-last")
      ->capture_default_str();
  command
      .add_option("--pitch", texts.pitch,
                  "Distance between features of linear layers: recommended, or tight (the batch)")
      ->capture_default_str();
  command.add_flag("--bias", texts.bias, "Include the bias and its gradient, on every engine");
  command.add_flag("--no-dx", texts.no_dx, "Leave out the gradient of the input");
}

void add_sampling_options(CLI::App& command, BenchTexts& texts) {
  add_optional(command, "--states", texts.states,
               "hot, cold or hot,cold; default: both, with networks hot");
  command.add_option("--passes", texts.passes, "forward, backward, total or some of them")
      ->capture_default_str();
  command
      .add_option("--repetitions", texts.repetitions, "Samples of each engine and pass, at least")
      ->capture_default_str();
  command
      .add_option("--min-time", texts.min_time,
                  "Seconds spent on the hot samples of each engine, at least")
      ->capture_default_str();
  command.add_option("--seed", texts.seed, "Of masks and numbers")->capture_default_str();
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measures generated code against the interpreter, the paper's loop and dense");
  const auto texts = std::make_shared<BenchTexts>();
  add_layer_options(*command, *texts);
  add_workload_options(*command, *texts);
  add_sampling_options(*command, *texts);
  command->callback([texts] { run_bench(*texts); });
}

}  // namespace sparsejit::frontend
