// What compiling in the background does to steps that run meanwhile: 768 -> 3072, batch 902, 95%,
// both passes. Arguments: threads of the runtime, and whether another layer of that size is being
// compiled; every fifth step it gets a new mask.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "sparsejit/sparsejit.h"

namespace sparsejit {
namespace {

constexpr MaskShape kShape{3072, 768};
constexpr double kSparsity = 0.95;
constexpr int64_t kBatch = 902;
constexpr int kStepsPerMask = 5;

// One layer and its tensors.
class Step {
 public:
  explicit Step(Runtime& runtime)
      : mask_(Mask::random(kShape, kSparsity, 1)),
        layer_(compile_layer(mask_, {.engine = Engine::native, .runtime = &runtime})),
        values_(mask_.nnz(), 1.0F),
        d_values_(mask_.nnz()),
        x_(kShape.in * pitch_, 1.0F),
        y_(kShape.out * pitch_),
        dx_(x_.size()) {}

  void run() {
    const auto x = feature_major<const float>(x_.data(), kBatch, kShape.in, pitch_);
    layer_.run_forward(x, values_, {}, feature_major(y_.data(), kBatch, kShape.out, pitch_));
    layer_.run_backward(x, feature_major<const float>(y_.data(), kBatch, kShape.out, pitch_),
                        values_, feature_major(dx_.data(), kBatch, kShape.in, pitch_), d_values_,
                        {});
  }

 private:
  const int64_t pitch_ = stream_pitch(kBatch);
  Mask mask_;
  Layer layer_;
  std::vector<float> values_, d_values_, x_, y_, dx_;
};

double seconds_of(Step& step) {
  const auto start = std::chrono::steady_clock::now();
  step.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// An iteration is ten steps alone and ten while a mask is being compiled; the ratio is of medians.
void step_while_compiling(benchmark::State& state) {
  Runtime runtime({.threads = static_cast<int>(state.range(0))});
  Step step(runtime);
  step.run();
  std::vector<double> alone;
  std::vector<double> compiling;
  uint64_t seed = 1;
  for (auto _ : state) {
    for (int i = 0; i < 2 * kStepsPerMask; ++i) alone.push_back(seconds_of(step));
    std::optional<Layer> other;
    for (int i = 0; i < 2 * kStepsPerMask; ++i) {
      if (i % kStepsPerMask == 0) {
        other = compile_layer(Mask::random(kShape, kSparsity, ++seed),
                              {.engine = Engine::native,
                               .compile = CompileMode::background,
                               .batch = kBatch,
                               .runtime = &runtime});
      }
      compiling.push_back(seconds_of(step));
    }
  }
  state.counters["alone_ms"] = median(alone) * 1e3;
  state.counters["compiling_ms"] = median(compiling) * 1e3;
  state.counters["ratio"] = median(compiling) / median(alone);
  state.counters["kernels"] = static_cast<double>(runtime.stats().cache_misses);
}
BENCHMARK(step_while_compiling)->Arg(1)->Arg(2)->Iterations(15)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sparsejit
