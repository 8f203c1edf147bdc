// The training loop; see trainer.h. Read Run::execute, run_epoch and run_step in that order.
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "train/activations.h"
#include "train/network.h"
#include "train/random.h"

namespace sparsejit::frontend {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

RuntimeOptions runtime_options(const TrainOptions& options, TrainObserver& observer) {
  RuntimeOptions result;
  result.threads = static_cast<int>(options.threads);
  result.log = [&observer](const std::string& text) { observer.on_remark(text); };
  return result;
}

class Run {
 public:
  Run(const Dataset& data, const TrainOptions& options, const MaskSchedule& schedule,
      TrainEngine engine, TrainObserver& observer)
      : data_(data),
        options_(options),
        observer_(observer),
        steps_(steps_per_epoch(options, data)),
        schedule_(schedule),
        runtime_(runtime_options(options, observer)),
        network_(options, engine, schedule_.initial_sparsity, {data.train.rows, data.train.cols},
                 runtime_) {
    result_.engine = engine;
  }

  TrainResult execute() {
    for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
      EpochReport report = run_epoch(epoch);
      report.test_accuracy = evaluate();
      observer_.on_epoch(report);
      result_.epochs.push_back(report);
    }
    for (size_t layer = 0; layer < network_.hidden_layers(); ++layer) {
      const Mask& mask = network_.mask(layer);
      result_.hidden.push_back({mask.shape(), mask.nnz(), network_.report(layer)});
    }
    result_.stats = runtime_.stats();
    return std::move(result_);
  }

 private:
  EpochReport run_epoch(int64_t epoch) {
    const Stopwatch watch;
    std::vector<int64_t> order(static_cast<size_t>(data_.train.count));
    std::iota(order.begin(), order.end(), 0);
    Random(mix_seed(options_.seed, Purpose::order, static_cast<uint64_t>(epoch))).shuffle(order);
    LossSum sum;
    int64_t seen = 0;
    EpochReport report;
    report.epoch = epoch;
    for (int64_t step = 0; step < steps_; ++step) {
      const int64_t samples = std::min(options_.batch, data_.train.count - seen);
      const LossSum batch = run_step(
          std::span(order).subspan(static_cast<size_t>(seen), static_cast<size_t>(samples)));
      require_finite(batch.loss, epoch, step);
      const int64_t steps_done = epoch * steps_ + step + 1;
      if (const auto update = update_due(schedule_, steps_done)) {
        change_masks(*update, steps_done, samples);
      }
      seen += samples;
      sum.loss += batch.loss;
      sum.correct += batch.correct;
      report.loss = sum.loss / static_cast<double>(seen);
      report.train_accuracy = static_cast<double>(sum.correct) / static_cast<double>(seen);
      report.seconds = watch.seconds();
      observer_.on_step({epoch, step, steps_, report.loss, report.train_accuracy, report.seconds});
    }
    return report;
  }

  LossSum run_step(std::span<const int64_t> images) {
    const auto samples = static_cast<int64_t>(images.size());
    gather_images(data_.train, data_.pixel_scale, images, network_.input());
    network_.run_forward(samples);
    const LossSum sum = softmax_cross_entropy(network_.logits(), labels_of(data_.train, images),
                                              &network_.d_logits());
    network_.run_backward(samples);
    network_.update_weights(static_cast<float>(options_.learning_rate),
                            static_cast<float>(options_.momentum));
    return sum;
  }

  void require_finite(double loss, int64_t epoch, int64_t step) const {
    if (std::isfinite(loss)) return;
    throw_error(
        "--lr: {} lets the loss become {} in step {} of epoch {}; expected a learning rate small "
        "enough for a finite loss",
        options_.learning_rate, loss, step + 1, epoch + 1);
  }

  void change_masks(int64_t update, int64_t steps_done, int64_t samples) {
    for (size_t layer = 0; layer < network_.hidden_layers(); ++layer) {
      if (!network_.spec(layer).pruned) continue;
      const Stopwatch watch;
      std::span<const float> gradient;
      if (schedule_.method == Method::rigl) gradient = network_.dense_gradient(layer, samples);
      const auto number = static_cast<uint64_t>(update) * network_.hidden_layers() + layer;
      const Mask mask = next_mask(schedule_, update, network_.mask(layer), network_.values(layer),
                                  gradient, mix_seed(options_.seed, Purpose::growth, number));
      const MaskChange change = network_.set_mask(layer, mask);
      const double seconds = watch.seconds();
      result_.mask_changes += change.changed() ? 1 : 0;
      result_.mask_seconds += seconds;
      observer_.on_mask_update({steps_done, layer, mask.sparsity(), seconds, change});
    }
  }

  // Always whole batches, the last one padded with copies of the last image: no kernel has to be
  // generated for the remainder of the test set.
  double evaluate() {
    int64_t correct = 0;
    std::vector<int64_t> images(static_cast<size_t>(options_.batch));
    for (int64_t first = 0; first < data_.test.count; first += options_.batch) {
      for (size_t i = 0; i < images.size(); ++i) {
        images[i] = std::min(first + static_cast<int64_t>(i), data_.test.count - 1);
      }
      gather_images(data_.test, data_.pixel_scale, images, network_.input());
      network_.run_forward(options_.batch);
      const auto samples = static_cast<size_t>(std::min(options_.batch, data_.test.count - first));
      const auto labels = labels_of(data_.test, std::span(images).first(samples));
      correct += softmax_cross_entropy(network_.logits(), labels, nullptr).correct;
    }
    return static_cast<double>(correct) / static_cast<double>(data_.test.count);
  }

  std::span<const uint8_t> labels_of(const ImageSet& set, std::span<const int64_t> images) {
    labels_.clear();
    for (const int64_t image : images) labels_.push_back(set.labels[static_cast<size_t>(image)]);
    return labels_;
  }

  const Dataset& data_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  const int64_t steps_;  // of an epoch
  const MaskSchedule& schedule_;
  Runtime runtime_;
  Network network_;
  TrainResult result_;
  std::vector<uint8_t> labels_;  // of the batch at hand
};

}  // namespace

double TrainResult::seconds_per_epoch() const {
  std::vector<double> seconds;
  for (const EpochReport& epoch : epochs) seconds.push_back(epoch.seconds);
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

double TrainResult::total_seconds() const {
  double sum = 0;
  for (const EpochReport& epoch : epochs) sum += epoch.seconds;
  return sum;
}

TrainResult train(const Dataset& data, const TrainOptions& options, const MaskSchedule& schedule,
                  TrainEngine engine, TrainObserver& observer) {
  return Run(data, options, schedule, engine, observer).execute();
}

}  // namespace sparsejit::frontend
