// Layer: validates, picks how each operand is used, runs the pass. The public contract is in
// layer.h; the work is in pass_driver.cc; which kernel runs is decided in pass_variants.cc.
#include "sparsejit/layer.h"

#include <algorithm>
#include <chrono>

#include "layer_impl.h"
#include "portable_engine.h"
#include "sparsejit/error.h"
#include "validate.h"

namespace sparsejit {
namespace {

std::string find_portable_reason(const LayerOptions& options, const MachineModel& machine) {
  if (options.engine == Engine::portable) return "asked for";
  if (!machine.avx2_fma) return "the CPU or operating system offers no AVX2 and FMA";
  return {};
}

// The pitch at which the kernels can use a view in place, 0 where it must be packed.
template <typename T>
int64_t direct_pitch(const BasicTensorView<T>& view) {
  constexpr int64_t kLanes = 8;
  constexpr int64_t kMaxReach = (int64_t{1} << 31) / sizeof(float);
  if (view.empty() || view.features == 0) return 0;
  if (view.batch < kLanes || view.batch_stride != 1) return 0;
  const int64_t pitch = view.features == 1 ? view.batch : view.feature_stride;
  if (pitch <= 0 || pitch > kMaxReach / view.features - 1) return 0;
  return pitch;
}

void run_parallel(ThreadPool& pool, int64_t rows,
                  const std::function<void(int64_t first, int64_t last)>& call) {
  pool.run([&](int thread) {
    call(rows * thread / pool.threads(), rows * (thread + 1) / pool.threads());
  });
}

// The caller's tensors of one pass; absent ones are empty.
struct PassTensors {
  ConstTensorView x;
  ConstTensorView dy;
  TensorView y_or_dx;
  std::span<const float> values;
  const float* start = nullptr;  // of forward sums, one a row of the mask
  std::span<float> d_values;
  std::span<float> d_bias;
};

StepArguments arguments_of(const Step& step, const PassTensors& tensors, const float* zeros) {
  StepArguments arguments;
  const bool gathers_x = step.side == Pass::forward;
  arguments.gathered = gathers_x ? tensors.x : tensors.dy;
  if (step.kind != KernelKind::products) arguments.own = tensors.y_or_dx;
  if (step.kind != KernelKind::accumulate) arguments.paired = gathers_x ? tensors.dy : tensors.x;
  arguments.values = tensors.values;
  arguments.start = gathers_x ? tensors.start : zeros;
  arguments.d_values = tensors.d_values;
  arguments.stream_sums = tensors.d_bias;
  return arguments;
}

void run_steps(Layer::Impl& impl, const PreparedPass& prepared, const PassTensors& tensors) {
  bool first = true;
  for (const Step& step : *prepared.steps) {
    StepArguments arguments = arguments_of(step, tensors, impl.zeros.data());
    if (!first) arguments.stream_sums = {};  // made by the first step
    first = false;
    run_step(*impl.lowered, step.side, *step.kernel, step.direct, prepared.length, arguments,
             impl.runtime->pool, impl.runtime->scratch);
  }
}

void run_pass(Layer::Impl& impl, const PassShape& shape, const PassTensors& tensors) {
  const PreparedPass prepared = impl.variants.prepare(impl.lowered, shape);
  if (!prepared.measured) {
    run_steps(impl, prepared, tensors);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  run_steps(impl, prepared, tensors);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  impl.variants.record(prepared.shape, prepared.engine, seconds.count());
}

}  // namespace

const char* to_text(Engine engine) {
  switch (engine) {
    case Engine::automatic:
      return "automatic";
    case Engine::native:
      return "native";
    case Engine::interpreted:
      return "interpreted";
    case Engine::portable:
      return "portable";
  }
  return "?";
}

Layer::Impl::Impl(const Mask& mask, const LayerOptions& o)
    : options(o),
      runtime(o.runtime == nullptr ? Runtime::shared().impl() : o.runtime->impl()),
      portable_reason(find_portable_reason(o, runtime->machine)),
      lowered(std::make_shared<LoweredMask>(mask)),
      variants(runtime, o.engine),
      zeros(std::max(mask.rows(), mask.cols()), 0.0F) {}

Layer::Layer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Layer::Layer(Layer&&) noexcept = default;
Layer& Layer::operator=(Layer&&) noexcept = default;
Layer::~Layer() = default;

void Layer::run_forward(ConstTensorView x, std::span<const float> values,
                        std::span<const float> bias, TensorView y) const {
  const Mask& m = mask();
  validate_input(x, x.batch, m.cols(), "x");
  validate_output(y, x.batch, m.rows(), "y");
  validate_array(values, m.nnz(), false, "values");
  validate_array(bias, m.rows(), true, "bias");
  validate_distinct(y.data, x.data, "y", "x");
  if (x.batch == 0 || m.rows() == 0) return;
  if (impl_->portable()) {
    run_parallel(impl_->runtime->pool, m.rows(), [&](int64_t first, int64_t last) {
      portable_forward(impl_->lowered->forward, x, values, bias, y, first, last);
    });
    return;
  }
  PassTensors tensors;
  tensors.x = x;
  tensors.y_or_dx = y;
  tensors.values = values;
  tensors.start = bias.empty() ? impl_->zeros.data() : bias.data();
  run_pass(*impl_,
           {.pass = Pass::forward,
            .batch = x.batch,
            .direct = {.x = direct_pitch(x), .y = direct_pitch(y), .dx = 0}},
           tensors);
}

void Layer::run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> values,
                         TensorView dx, std::span<float> d_values, std::span<float> d_bias) const {
  const Mask& m = mask();
  validate_input(x, x.batch, m.cols(), "x");
  validate_input(dy, x.batch, m.rows(), "dy");
  if (!dx.empty()) validate_output(dx, x.batch, m.cols(), "dx");
  validate_array(values, m.nnz(), false, "values");
  validate_array(d_values, m.nnz(), false, "d_values");
  validate_array(d_bias, m.rows(), true, "d_bias");
  validate_distinct(dx.data, x.data, "dx", "x");
  validate_distinct(dx.data, dy.data, "dx", "dy");
  validate_distinct(d_values.data(), values.data(), "d_values", "values");
  if (x.batch == 0) {
    std::fill(d_values.begin(), d_values.end(), 0.0F);
    std::fill(d_bias.begin(), d_bias.end(), 0.0F);
    return;
  }
  if (impl_->portable()) {
    ThreadPool& pool = impl_->runtime->pool;
    run_parallel(pool, m.cols(), [&](int64_t first, int64_t last) {
      portable_backward(impl_->lowered->backward, x, dy, values, dx, d_values, first, last);
    });
    if (d_bias.empty()) return;
    run_parallel(pool, m.rows(), [&](int64_t first, int64_t last) {
      portable_bias_gradient(dy, d_bias, first, last);
    });
    return;
  }
  PassTensors tensors;
  tensors.x = x;
  tensors.dy = dy;
  tensors.y_or_dx = dx;
  tensors.values = values;
  tensors.d_values = d_values;
  tensors.d_bias = d_bias;
  run_pass(*impl_,
           {.pass = Pass::backward,
            .batch = x.batch,
            .direct = {.x = direct_pitch(x), .y = direct_pitch(dy), .dx = direct_pitch(dx)},
            .want_dx = !dx.empty()},
           tensors);
}

MaskChange Layer::set_mask(const Mask& new_mask) {
  MaskChange change = compare_masks(mask(), new_mask);
  if (!change.changed()) return change;
  // A choice of engine stays valid while the number of stored weights stays about the same.
  constexpr double kSimilar = 0.1;
  const auto before = static_cast<double>(mask().nnz());
  const auto after = static_cast<double>(new_mask.nnz());
  const bool similar = std::abs(after - before) <= kSimilar * before;
  auto lowered = std::make_shared<LoweredMask>(new_mask);
  const Regeneration regeneration = impl_->variants.regenerate(lowered, similar);
  impl_->lowered = std::move(lowered);
  change.kernels_generated = regeneration.generated;
  change.kernels_reused = regeneration.reused;
  change.code_bytes = regeneration.code_bytes;
  change.compile_seconds = regeneration.seconds;
  return change;
}

const Mask& Layer::mask() const { return impl_->lowered->mask; }
std::vector<KernelReport> Layer::report() const {
  if (!impl_->portable()) return impl_->variants.report();
  std::vector<KernelReport> reports(2);
  reports[0].pass = Pass::forward;
  reports[1].pass = Pass::backward;
  for (KernelReport& report : reports) {
    report.engine = Engine::portable;
    report.reason = impl_->portable_reason;
  }
  return reports;
}

Layer compile_layer(const Mask& mask, const LayerOptions& options) {
  validate_options(options);
  auto impl = std::make_unique<Layer::Impl>(mask, options);
  if (options.batch > 0 && !impl->portable()) {
    const auto pitch_of = [&](int64_t features) -> int64_t {
      if (options.layout == Layout::row_major) return 0;
      const int64_t pitch = options.pitch == 0 ? stream_pitch(options.batch) : options.pitch;
      return direct_pitch(
          feature_major<const float>(impl->zeros.data(), options.batch, features, pitch));
    };
    const TensorPitches direct{.x = pitch_of(mask.cols()), .y = pitch_of(mask.rows()), .dx = 0};
    impl->variants.prepare(impl->lowered,
                           {.pass = Pass::forward, .batch = options.batch, .direct = direct});
    PassShape backward{
        .pass = Pass::backward, .batch = options.batch, .direct = direct, .want_dx = true};
    backward.direct.dx = direct.x;
    impl->variants.prepare(impl->lowered, backward);
  }
  return Layer(std::move(impl));
}

}  // namespace sparsejit
