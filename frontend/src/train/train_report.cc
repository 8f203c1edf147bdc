// The text of headings, results and tables; see train_report.h. Nothing is printed here.
#include "train/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dense_blas.h"
#include "train/architecture.h"
#include "train/units.h"

namespace sparsejit::frontend {
namespace {

std::string kernel_line(size_t layer, const KernelReport& kernel) {
  const auto time = [](double seconds) {
    return seconds == 0 ? std::string("-") : seconds_text(seconds);
  };
  return fmt::format("  hidden layer {:<2} {:<9} {:<12} {:>9} {:>12} {:>9}\n", layer + 1,
                     to_text(kernel.pass), to_text(kernel.engine), time(kernel.native_seconds),
                     time(kernel.interpreted_seconds), bytes_text(kernel.code_bytes));
}

// The kernels of whole batches; the last batch of an epoch may have some of its own.
std::string kernel_table(const TrainResult& result, int64_t batch) {
  std::string lines;
  for (size_t layer = 0; layer < result.hidden.size(); ++layer) {
    for (const KernelReport& kernel : result.hidden[layer].kernels) {
      if (kernel.batch == batch) lines += kernel_line(layer, kernel);
    }
  }
  if (lines.empty()) return lines;
  return fmt::format("\n  {:<25} {:<12} {:>9} {:>12} {:>9}\n",
                     fmt::format("kernels for batch {}", batch), "engine", "native", "interpreted",
                     "code") +
         lines;
}

std::string threads_text(int64_t threads) {
  if (threads == 0) return "all cores";
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

std::string loss_text(const TrainResult& run, const TrainResult& reference) {
  double largest = 0;
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    const double difference = std::abs(run.epochs[i].loss - reference.epochs[i].loss);
    largest = std::max(largest, difference);
  }
  return largest == 0 ? "identical" : fmt::format("within {:.1e}", largest);
}

}  // namespace

std::string describe_run(const Dataset& data, const TrainOptions& options,
                         const MaskSchedule& schedule) {
  std::string text = fmt::format(
      "{}: {} training and {} test images of {}x{} pixels, {} classes\n"
      "network {}, hidden layers {:.4g}% sparse, engine {}, {}, seed {}\n"
      "{} epochs of {} steps, method {}",
      data.name, data.train.count, data.test.count, data.train.rows, data.train.cols, data.classes,
      to_text(plan_layers(options, {data.train.rows, data.train.cols})), 100.0 * options.sparsity,
      to_text(options.engine), threads_text(options.threads), options.seed, options.epochs,
      steps_per_epoch(options, data), to_text(options.method));
  if (schedule.updates > 0) {
    text += fmt::format(": masks change {} times, every {} steps from step {}", schedule.updates,
                        schedule.interval, schedule.first);
  }
  return text + "\n";
}

std::string describe_result(const TrainResult& result, const TrainOptions& options) {
  int64_t stored = 0;
  int64_t positions = 0;
  int64_t code_bytes = 0;
  for (const LayerSummary& layer : result.hidden) {
    stored += layer.stored;
    positions += layer.shape.rows() * layer.shape.cols();
    for (const KernelReport& kernel : layer.kernels) code_bytes += kernel.code_bytes;
  }
  const RuntimeStats& stats = result.stats;
  std::string text;
  text += fmt::format("test accuracy   {:.2f}%, with {} of {} hidden weights stored\n",
                      100.0 * result.epochs.back().test_accuracy, stored, positions);
  text +=
      fmt::format("time            {} an epoch (median), {} in all\n",
                  seconds_text(result.seconds_per_epoch()), seconds_text(result.total_seconds()));
  text += fmt::format("mask changes    {}, {} of that time\n", result.mask_changes,
                      seconds_text(result.mask_seconds));
  text += fmt::format("generated code  {} for the last masks, {} in the cache\n",
                      bytes_text(code_bytes), bytes_text(stats.code_bytes));
  text += fmt::format("kernel cache    {} hits, {} misses compiled in {}, {} evicted\n",
                      stats.cache_hits, stats.cache_misses, seconds_text(stats.compile_seconds),
                      stats.evictions);
  return text + kernel_table(result, options.batch);
}

std::string describe_comparison(const std::vector<TrainResult>& runs) {
  double dense_seconds = 0;
  for (const TrainResult& run : runs) {
    if (run.engine == TrainEngine::dense) dense_seconds = run.seconds_per_epoch();
  }
  std::string text =
      fmt::format("{:<12} {:>9} {:>9} {:>9} {:>13} {:>11} {:>9}  {}\n", "engine", "an epoch",
                  "vs dense", "in all", "mask changes", "final loss", "accuracy", "losses");
  for (const TrainResult& run : runs) {
    text += fmt::format("{:<12} {:>9} {:>8.2f}x {:>9} {:>13} {:>11.4f} {:>8.2f}%  {}\n",
                        to_text(run.engine), seconds_text(run.seconds_per_epoch()),
                        dense_seconds / run.seconds_per_epoch(), seconds_text(run.total_seconds()),
                        seconds_text(run.mask_seconds), run.epochs.back().loss,
                        100.0 * run.epochs.back().test_accuracy,
                        &run == runs.data() ? "reference" : loss_text(run, runs.front()));
  }
  return text + fmt::format("an epoch: the median; dense: {} on the same masked weights\n",
                            dense_library());
}

}  // namespace sparsejit::frontend
