// What a call costs beside its arithmetic: an 8x8 layer with a batch of 8 has 512 products, a few
// nanoseconds of work. Read this first to see the form of a micro benchmark.
#include <benchmark/benchmark.h>

#include <vector>

#include "sparsejit/sparsejit.h"

namespace sparsejit {
namespace {

constexpr int64_t kSize = 8;

struct TinyLayer {
  explicit TinyLayer(Engine engine)
      : layer(compile_layer(Mask::random({kSize, kSize}, 0.0, 1),
                            {.engine = engine, .batch = kSize, .runtime = &runtime})) {}

  Runtime runtime{RuntimeOptions{.threads = 1}};
  Layer layer;
  std::vector<float> x = std::vector<float>(kSize * kSize, 1.0F);
  std::vector<float> y = std::vector<float>(kSize * kSize);
  std::vector<float> values = std::vector<float>(kSize * kSize, 1.0F);
  std::vector<float> d_values = std::vector<float>(kSize * kSize);

  TensorView view(std::vector<float>& floats) { return feature_major(floats.data(), kSize, kSize); }
};

void run_forward_8x8(benchmark::State& state, Engine engine) {
  TinyLayer tiny(engine);
  for (auto _ : state) {
    tiny.layer.run_forward(tiny.view(tiny.x), tiny.values, {}, tiny.view(tiny.y));
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(run_forward_8x8, native, Engine::native);
BENCHMARK_CAPTURE(run_forward_8x8, interpreted, Engine::interpreted);
BENCHMARK_CAPTURE(run_forward_8x8, automatic, Engine::automatic);

void run_backward_8x8(benchmark::State& state, Engine engine) {
  TinyLayer tiny(engine);
  for (auto _ : state) {
    tiny.layer.run_backward(tiny.view(tiny.x), tiny.view(tiny.y), tiny.values, TensorView{},
                            tiny.d_values, {});
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(run_backward_8x8, native, Engine::native);
BENCHMARK_CAPTURE(run_backward_8x8, interpreted, Engine::interpreted);

}  // namespace
}  // namespace sparsejit
