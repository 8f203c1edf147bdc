// `sparsejit bench`: options in, table and files out. Read bench_run.h for what is done in between.
//
//     options -> measure (or read --results) -> report -> JSON, CSV, plot
//                                                      -> comparison with an earlier report
//
// The table goes to standard output as workloads finish, or to standard error when a file takes
// standard output (--json -). Progress is one line on standard error, only on a terminal. Wrong
// options, unreadable reports and unwritable paths are refused before anything is measured. Exit
// status kSlowerStatus when --compare finds something slower.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench_json.h"
#include "bench/bench_run.h"
#include "bench/bench_summary.h"
#include "bench/bench_table.h"
#include "bench/compare.h"
#include "bench/crossover.h"
#include "bench/network_table.h"
#include "bench/report_files.h"
#include "commands.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

using Report = nlohmann::ordered_json;

constexpr int kSlowerStatus = 3;
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

// What is printed is on its way by the time this returns.
Report measure_report(const BenchOptions& options, std::FILE* table) {
  const BenchMachine machine = measure_machine(options.threads);
  print(table, machine_line(machine) + legend());
  const std::vector<WorkloadResults> groups = run_workloads(options, machine, table);
  if (options.network) print(table, network_totals_table(network_totals(groups)));
  print(table, summary(groups));
  Report report = make_report(machine, groups, options.network);
  print(table, crossover_table(report_crossovers(report_lines(report))));
  return report;
}

void run_bench(const BenchTexts& texts) {
  const BenchOptions options = parse_bench_options(texts);
  const ReportTexts& files = options.report;
  std::optional<Report> before;
  if (files.compare) before = load_report(*files.compare, "--compare");
  std::optional<Report> report;
  if (files.results) report = load_report(*files.results, "--results");
  validate_report_files(files);

  std::FILE* table = takes_stdout(files) ? stderr : stdout;
  if (!report) report = measure_report(options, table);
  write_report_files(files, *report);
  if (!before) return;
  const Comparison comparison = compare_reports(*before, *report, options.threshold);
  print(table, comparison_text(comparison));
  if (!comparison.slower.empty()) throw CLI::RuntimeError(kSlowerStatus);
}

using OptionText = std::optional<std::string>;

CLI::Option* add_optional(CLI::App& command, const char* name, OptionText& text,
                          const char* description) {
  return command.add_option_function<std::string>(
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
  add_optional(
      command, "--suite", texts.suite,
      "All layers of a network with their sum (resnet18, resnet50, bert, mlp), or a set of "
      "layers (paper, small, dlmc)");
  add_optional(command, "--masks", texts.masks, "Folder of .smtx files for --suite dlmc");
}

void add_workload_options(CLI::App& command, BenchTexts& texts) {
  add_optional(command, "--batch", texts.batches,
               "Samples or images, a list; default 128 with --shape, 16 with --conv");
  add_optional(command, "--sparsity", texts.sparsities,
               "Share of weights left out: a list, a range such as 0.5:0.995, or sweep for that "
               "range; default 0.8,0.9,0.95,0.98,0.99, of networks 0.95");
  add_optional(command, "--engines", texts.engines,
               "Some of native, interpreted, portable, paper_loop, dense (OpenBLAS, of "
               "convolutions oneDNN), "
               "onednn (linear layers) and mkl_sparse (linear layers, where MKL is installed); "
               "default: all, "
               "without portable where it is slow");
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
  command
      .add_option(
          "--dense", texts.dense,
          "Algorithms oneDNN may take for convolutions: fastest (Winograd's too), or direct")
      ->capture_default_str();
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

// Puts the options that were added since the last call under a heading of the help text.
void group_options(CLI::App& command, const char* heading) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_group() == "Options" && option->get_name() != "--help") option->group(heading);
  }
}

void add_report_options(CLI::App& command, ReportTexts& texts) {
  const auto add = [&](const char* name, OptionText& text, const char* description) {
    add_optional(command, name, text, description)->group("Reports");
  };
  add("--json", texts.json, "Writes the results to this file; - for standard output");
  add("--csv", texts.csv, "Likewise, as comma-separated values");
  add("--svg", texts.svg, "Likewise, a plot of the speed-up over dense against sparsity");
  add("--results", texts.results,
      "Takes the results from this file of --json instead of measuring: to plot, convert or "
      "compare");
  add("--compare", texts.compare,
      "Says what got slower or faster than in this file of --json; exit status 3 if anything of "
      "the library's got slower");
  add("--threshold", texts.threshold,
      "Share of the time by which lines of --compare must differ; default 0.1");
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measures generated code against the interpreter, the paper's loop and dense");
  const auto texts = std::make_shared<BenchTexts>();
  add_layer_options(*command, *texts);
  group_options(*command, "Layers");
  add_workload_options(*command, *texts);
  group_options(*command, "Workloads and engines");
  add_sampling_options(*command, *texts);
  group_options(*command, "Sampling");
  add_report_options(*command, texts->report);
  command->callback([texts] { run_bench(*texts); });
}

}  // namespace sparsejit::frontend
