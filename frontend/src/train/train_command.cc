// The `train` subcommand: reads and checks the options, trains, prints. Read this first.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "commands.h"
#include "dense_blas.h"
#include "train/dataset.h"
#include "train/mask_schedule.h"
#include "train/parse_option.h"
#include "train/train_options.h"
#include "train/train_progress.h"
#include "train/train_report.h"
#include "train/trainer.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxCount = 1'000'000'000;
constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxClasses = 256;  // labels are bytes
constexpr int64_t kMaxStride = 1024;
constexpr double kMaxLearningRate = 1e6;

// Adds an option whose text `parse(name, text)` turns into the target's value.
template <typename Target, typename Parse>
void add_parsed(CLI::App& command, const std::string& name, Target& target, Parse parse,
                const char* kind, const std::string& help) {
  const auto set = [&target, name, parse](const std::string& text) { target = parse(name, text); };
  command.add_option_function<std::string>(name, set, help)->type_name(kind);
}

auto count(int64_t least, int64_t most) {
  return [=](const std::string& name, const std::string& text) {
    return parse_count(name, text, least, most);
  };
}

auto real(LowerBound lower, double below) {
  return [=](const std::string& name, const std::string& text) {
    return parse_real(name, text, lower, below);
  };
}

auto counts(int64_t most) {
  return [=](const std::string& name, const std::string& text) {
    return parse_counts(name, text, 1, most);
  };
}

void add_network_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--data", options.data, "MNIST-style IDX files, plain or .gz (UCI digits)")
      ->type_name("FOLDER");
  add_parsed(command, "--classes", options.classes, count(2, kMaxClasses), "N",
             fmt::format("Number of classes ({})", options.classes));
  add_parsed(command, "--net", options.net, parse_net, "NAME",
             fmt::format("Kind of network ({})\n"
                         "mlp: linear layers\n"
                         "cnn: 3x3 convolutions, mean of each channel, linear classifier",
                         to_text(options.net)));
  add_parsed(command, "--hidden", options.hidden, counts(kMaxPositions), "N,N,...",
             fmt::format("mlp: widths of the hidden layers ({})", fmt::join(kDefaultHidden, ",")));
  add_parsed(command, "--channels", options.channels, counts(kMaxPositions), "N,N,...",
             fmt::format("cnn: output channels of two or more convolutions ({})",
                         fmt::join(kDefaultChannels, ",")));
  add_parsed(command, "--strides", options.strides, counts(kMaxStride), "N,N,...",
             "cnn: stride of each convolution (1,2,1,2,...)");
  add_parsed(command, "--sparsity", options.sparsity, real(LowerBound::zero_allowed, 1.0), "SHARE",
             fmt::format("Share of each hidden layer that is not stored ({});\n"
                         "the first convolution stays full",
                         options.sparsity));
  add_parsed(command, "--engine", options.engine, parse_engine, "NAME",
             fmt::format("What runs the hidden layers ({})\n"
                         "auto: measure generated code and interpreter, keep the faster\n"
                         "jit: generated code, always\n"
                         "interpreted: AVX2 without generated code\n"
                         "dense: OpenBLAS on masked weights",
                         to_text(options.engine)));
  add_parsed(command, "--threads", options.threads, count(0, kMaxThreads), "N",
             fmt::format("Threads for the hidden layers, 0: all cores ({})", options.threads));
}

void add_optimizer_options(CLI::App& command, TrainOptions& options) {
  add_parsed(command, "--batch", options.batch, count(1, kMaxCount), "N",
             fmt::format("Images of a step ({})", options.batch));
  add_parsed(command, "--epochs", options.epochs, count(1, kMaxCount), "N",
             fmt::format("Passes over the training images ({})", options.epochs));
  add_parsed(command, "--lr", options.learning_rate, real(LowerBound::above_zero, kMaxLearningRate),
             "RATE", fmt::format("Learning rate ({})", options.learning_rate));
  add_parsed(command, "--momentum", options.momentum, real(LowerBound::zero_allowed, 1.0), "SHARE",
             fmt::format("Momentum of SGD ({})", options.momentum));
  add_parsed(command, "--seed", options.seed, parse_seed, "N",
             fmt::format("Decides masks, weights, order and growth ({})", options.seed));
}

void add_mask_options(CLI::App& command, TrainOptions& options) {
  add_parsed(command, "--method", options.method, parse_method, "NAME",
             fmt::format("How masks change ({})\n"
                         "fixed: random masks that stay\n"
                         "gmp: gradual magnitude pruning along a cubic\n"
                         "rigl: drop the smallest weights, grow where gradients are largest\n"
                         "set: drop the smallest weights, grow at random",
                         to_text(options.method)));
  add_parsed(command, "--update-start", options.update_start, count(1, kMaxCount), "STEPS",
             "Masks change first when so many steps are done (a tenth of the run)");
  add_parsed(command, "--update-end", options.update_end, count(1, kMaxCount), "STEPS",
             "No change after so many steps (three quarters of the run)");
  add_parsed(command, "--update-interval", options.update_interval, count(1, kMaxCount), "STEPS",
             "Steps from change to change (a tenth of the way from start to end)");
  add_parsed(command, "--update-fraction", options.update_fraction,
             real(LowerBound::above_zero, 1.0), "SHARE",
             fmt::format("rigl, set: share of the weights that the first change moves ({})",
                         kDefaultUpdateFraction));
  add_parsed(command, "--initial-sparsity", options.initial_sparsity,
             real(LowerBound::zero_allowed, 1.0), "SHARE", "gmp: sparsity at the start (0)");
}

void add_output_options(CLI::App& command, TrainOptions& options) {
  const auto set_compare = [&options] { options.compare = false; };
  command
      .add_flag_callback("--no-compare", set_compare, "Do not repeat the run on the other engines")
      ->disable_flag_override();
  command.add_flag("--quiet", options.quiet, "No progress, only the results")
      ->disable_flag_override();
}

std::vector<TrainResult> train_on_engines(const Dataset& data, const TrainOptions& options,
                                          const MaskSchedule& schedule) {
  std::vector<TrainResult> runs;
  {
    ProgressPrinter progress(options.epochs);
    TrainObserver silent;
    TrainObserver& observer = options.quiet ? silent : progress;
    runs.push_back(train(data, options, schedule, options.engine, observer));
  }
  if (!options.compare) return runs;
  for (const TrainEngine engine :
       {TrainEngine::jit, TrainEngine::interpreted, TrainEngine::dense}) {
    if (engine == options.engine) continue;
    if (!options.quiet) fmt::print(stderr, "the same run on {} ...\n", to_text(engine));
    TrainObserver silent;
    runs.push_back(train(data, options, schedule, engine, silent));
  }
  return runs;
}

void run_train(const TrainOptions& options) {
  const Dataset data = !options.data ? embedded_digits(options.classes)
                                     : load_dataset(*options.data, options.classes);
  validate_options(options, data);
  const MaskSchedule schedule =
      plan_mask_schedule(options, steps_per_epoch(options, data) * options.epochs);
  if (!options.quiet) fmt::print(stderr, "{}", describe_run(data, options, schedule));
  const std::vector<TrainResult> runs = train_on_engines(data, options, schedule);
  fmt::print("{}", describe_result(runs.front(), options));
  if (runs.size() > 1) fmt::print("\n{}", describe_comparison(runs));
}

}  // namespace

void add_train_command(CLI::App& app) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command =
      app.add_subcommand("train", "Train a network with sparse hidden layers on images");
  add_network_options(*command, *options);
  add_optimizer_options(*command, *options);
  add_mask_options(*command, *options);
  add_output_options(*command, *options);
  command->callback([options] { run_train(*options); });
}

}  // namespace sparsejit::frontend
