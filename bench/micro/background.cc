// What compiling in the background does to steps that run meanwhile: 768 -> 3072, batch 902, 95%,
// both passes. Arguments: threads of the runtime, and whether another layer of that size is being
// compiled; every fifth step it gets a new mask.
#include <benchmark/benchmark.h>

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

void step(benchmark::State& state) {
  Runtime runtime({.threads = static_cast<int>(state.range(0))});
  Step step(runtime);
  step.run();
  std::optional<Layer> other;
  uint64_t steps = 0;
  for (auto _ : state) {
    if (state.range(1) == 1 && steps++ % kStepsPerMask == 0) {
      state.PauseTiming();
      other = compile_layer(Mask::random(kShape, kSparsity, steps + 1),
                            {.engine = Engine::native,
                             .compile = CompileMode::background,
                             .batch = kBatch,
                             .runtime = &runtime});
      state.ResumeTiming();
    }
    step.run();
  }
  state.counters["compiled"] = static_cast<double>(runtime.stats().cache_misses);
}
BENCHMARK(step)
    ->ArgsProduct({{1, 2}, {0, 1}})
    ->ArgNames({"threads", "compiling"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace sparsejit
