// Names of engines and methods, and the checks that need several options or the data.
#include "train/train_options.h"

#include <unistd.h>

#include "sparsejit/error.h"
#include "train/architecture.h"

namespace sparsejit::frontend {
namespace {

void require_method(bool given, const char* option, bool suits, Method method,
                    const char* expected) {
  if (given && !suits) {
    throw_error("{}: has no effect with --method {}; expected {}", option, to_text(method),
                expected);
  }
}

void validate_method(const TrainOptions& options) {
  const Method method = options.method;
  const bool changes = method != Method::fixed;
  const bool moves = method == Method::rigl || method == Method::set;
  require_method(options.update_start.has_value(), "--update-start", changes, method,
                 "gmp, rigl or set");
  require_method(options.update_end.has_value(), "--update-end", changes, method,
                 "gmp, rigl or set");
  require_method(options.update_interval.has_value(), "--update-interval", changes, method,
                 "gmp, rigl or set");
  require_method(options.update_fraction.has_value(), "--update-fraction", moves, method,
                 "rigl or set");
  require_method(options.initial_sparsity.has_value(), "--initial-sparsity", method == Method::gmp,
                 method, "gmp");
  if (options.initial_sparsity.value_or(0.0) > options.sparsity) {
    throw_error("--initial-sparsity: {} is more than --sparsity; expected at most {}",
                *options.initial_sparsity, options.sparsity);
  }
}

// An activation and its gradient for every pixel of every layer.
void validate_memory(const TrainOptions& options, const std::vector<LayerSpec>& layers) {
  double needed = 0;
  for (const LayerSpec& layer : layers) {
    const auto floats = static_cast<double>(layer.shape.out * layer.output.height) *
                        static_cast<double>(layer.output.width);
    needed += 2.0 * sizeof(float) * floats * static_cast<double>(options.batch);
  }
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > physical) {
    constexpr double kGib = 1 << 30;
    throw_error(
        "--batch: {} images need about {:.1f} GiB of activations in the network {}; expected at "
        "most the {:.1f} GiB of this machine",
        options.batch, needed / kGib, to_text(layers), physical / kGib);
  }
}

}  // namespace

const char* to_text(Net net) { return net == Net::mlp ? "mlp" : "cnn"; }

const char* to_text(TrainEngine engine) {
  switch (engine) {
    case TrainEngine::automatic:
      return "auto";
    case TrainEngine::jit:
      return "jit";
    case TrainEngine::interpreted:
      return "interpreted";
    case TrainEngine::dense:
      return "dense";
  }
  return "?";
}

const char* to_text(Method method) {
  switch (method) {
    case Method::fixed:
      return "fixed";
    case Method::gmp:
      return "gmp";
    case Method::rigl:
      return "rigl";
    case Method::set:
      return "set";
  }
  return "?";
}

int64_t steps_per_epoch(const TrainOptions& options, const Dataset& data) {
  return (data.train.count + options.batch - 1) / options.batch;
}

void validate_options(const TrainOptions& options, const Dataset& data) {
  if (options.batch > data.train.count) {
    throw_error("--batch: {} is too many; expected at most the {} training images of {}",
                options.batch, data.train.count, data.name);
  }
  validate_method(options);
  validate_memory(options, plan_layers(options, {data.train.rows, data.train.cols}));
}

}  // namespace sparsejit::frontend
