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
  if (view.empty() || view.batch < kLanes || view.batch_stride != 1) return 0;
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

void run_measured(Layer::Impl& impl, PassShape shape, const PassArguments& arguments) {
  if (!impl.variants.accepts_direct(shape)) shape.direct = {};
  const PreparedPass prepared = impl.variants.prepare(impl.lowered, shape);
  const auto start = std::chrono::steady_clock::now();
  run_pass(*impl.lowered, *prepared.kernel, shape.direct, arguments, impl.runtime->pool,
           impl.runtime->scratch);
  if (!prepared.measured) return;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  impl.variants.record(shape, prepared.engine, seconds.count());
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
      no_bias(mask.rows(), 0.0F) {}

Layer::Layer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Layer::Layer(Layer&&) noexcept = default;
Layer& Layer::operator=(Layer&&) noexcept = default;
Layer::~Layer() = default;

void Layer::run_forward(ConstTensorView x, std::span<const float> values,
                        std::span<const float> bias, TensorView y) const {
  const Mask& m = mask();
  validate_input(x, x.batch, m.cols(), "x");
  validate_output(y, x.batch, m.rows(), "y");
  validate_length(values.size(), m.nnz(), false, "values");
  validate_length(bias.size(), m.rows(), true, "bias");
  validate_distinct(y.data, x.data, "y", "x");
  if (x.batch == 0 || m.rows() == 0) return;
  if (impl_->portable()) {
    run_parallel(impl_->runtime->pool, m.rows(), [&](int64_t first, int64_t last) {
      portable_forward(impl_->lowered->forward, x, values, bias, y, first, last);
    });
    return;
  }
  const PassShape shape{.pass = Pass::forward,
                        .batch = x.batch,
                        .direct = {.gathered = direct_pitch(x), .own = direct_pitch(y)}};
  PassArguments arguments;
  arguments.gathered = x;
  arguments.own = y;
  arguments.values = values;
  arguments.bias = bias.empty() ? impl_->no_bias.data() : bias.data();
  run_measured(*impl_, shape, arguments);
}

void Layer::run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> values,
                         TensorView dx, std::span<float> d_values, std::span<float> d_bias) const {
  const Mask& m = mask();
  validate_input(x, x.batch, m.cols(), "x");
  validate_input(dy, x.batch, m.rows(), "dy");
  if (!dx.empty()) validate_output(dx, x.batch, m.cols(), "dx");
  validate_length(values.size(), m.nnz(), false, "values");
  validate_length(d_values.size(), m.nnz(), false, "d_values");
  validate_length(d_bias.size(), m.rows(), true, "d_bias");
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
  const PassShape shape{
      .pass = Pass::backward,
      .batch = x.batch,
      .direct = {.gathered = direct_pitch(dy), .own = direct_pitch(dx), .paired = direct_pitch(x)},
      .want_own = !dx.empty()};
  PassArguments arguments;
  arguments.gathered = dy;
  arguments.own = dx;
  arguments.paired = x;
  arguments.values = values;
  arguments.d_values = d_values;
  arguments.d_bias = d_bias;
  run_measured(*impl_, shape, arguments);
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
std::vector<KernelReport> Layer::report() const { return impl_->variants.report(); }

Layer compile_layer(const Mask& mask, const LayerOptions& options) {
  validate_options(options);
  auto impl = std::make_unique<Layer::Impl>(mask, options);
  if (options.batch > 0 && !impl->portable()) {
    const auto pitch_of = [&](int64_t features) -> int64_t {
      if (options.layout == Layout::row_major) return 0;
      const int64_t pitch = options.pitch == 0 ? stream_pitch(options.batch) : options.pitch;
      return direct_pitch(
          feature_major<const float>(impl->no_bias.data(), options.batch, features, pitch));
    };
    const int64_t in = pitch_of(mask.cols());
    const int64_t out = pitch_of(mask.rows());
    impl->variants.prepare(
        impl->lowered,
        {.pass = Pass::forward, .batch = options.batch, .direct = {.gathered = in, .own = out}});
    impl->variants.prepare(impl->lowered, {.pass = Pass::backward,
                                           .batch = options.batch,
                                           .direct = {.gathered = out, .own = in, .paired = in}});
  }
  return Layer(std::move(impl));
}

}  // namespace sparsejit
