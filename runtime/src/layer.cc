// Layer: validates, picks how each operand is used, runs the pass. The public contract is in
// layer.h; the work is in pass_driver.cc; which kernel runs is decided in pass_variants.cc.
#include "sparsejit/layer.h"

#include <algorithm>
#include <chrono>

#include "dense_engine.h"
#include "layer_impl.h"
#include "pass_shape.h"
#include "pass_tensors.h"
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

void run_parallel(ThreadPool& pool, int64_t count,
                  const std::function<void(int64_t first, int64_t last)>& call) {
  pool.run([&](int thread) {
    call(count * thread / pool.threads(), count * (thread + 1) / pool.threads());
  });
}

StepArguments arguments_of(const Step& step, const PassTensors& tensors, const float* zeros) {
  StepArguments arguments;
  const bool gathers_x = step.side == Pass::forward;
  arguments.gathered = gathers_x ? tensors.x : tensors.dy;
  if (step.kind != KernelKind::products) arguments.own = tensors.y_or_dx;
  if (step.kind != KernelKind::accumulate) arguments.paired = gathers_x ? tensors.dy : tensors.x;
  arguments.gate = tensors.gate;
  arguments.values = tensors.values;
  arguments.start = gathers_x && !tensors.bias.empty() ? tensors.bias.data() : zeros;
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
    run_step({.lowered = *prepared.lowered,
              .side = step.side,
              .kernel = *step.kernel,
              .in_place = step.in_place(),
              .slabs = prepared.slabs,
              .pool = impl.runtime->pool,
              .scratch = impl.runtime->scratch},
             arguments);
  }
}

void run_prepared(Layer::Impl& impl, const PreparedPass& prepared, const PassTensors& tensors) {
  if (prepared.engine != Engine::dense) return run_steps(impl, prepared, tensors);
  const DenseContext context{.mask = prepared.lowered->spec.mask,
                             .relu = impl.options.relu,
                             .sgemm = impl.runtime->options.sgemm,
                             .pool = impl.runtime->pool,
                             .scratch = impl.runtime->scratch};
  if (prepared.shape.pass == Pass::forward) {
    run_dense_forward(context, tensors);
  } else {
    run_dense_backward(context, tensors);
  }
}

void run_pass(Layer::Impl& impl, const LoweredLayerPtr& lowered, const PassShape& shape,
              const PassTensors& tensors) {
  const PreparedPass prepared = impl.variants.prepare(lowered, shape);
  if (!prepared.measured) {
    run_prepared(impl, prepared, tensors);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  run_prepared(impl, prepared, tensors);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  impl.variants.record(prepared, seconds.count());
}

// Also for d_bias alone, which is one sum a row on any engine.
void run_portable_backward(const Layer::Impl& impl, const LayerSpec& spec,
                           const PassTensors& tensors) {
  ThreadPool& pool = impl.runtime->pool;
  const ConstImageView& dy = tensors.dy;
  run_parallel(pool, spec.mask.rows(), [&](int64_t first, int64_t last) {
    if (!tensors.d_values.empty()) {
      portable_value_gradient(spec, tensors.x, dy, tensors.gate, tensors.d_values, first, last);
    }
    if (!tensors.d_bias.empty()) {
      portable_bias_gradient(dy, tensors.gate, tensors.d_bias, first, last);
    }
  });
  if (tensors.y_or_dx.empty()) return;
  run_parallel(pool, tensors.x.images, [&](int64_t first, int64_t last) {
    portable_input_gradient(spec, dy, tensors.gate, tensors.values, tensors.y_or_dx, first, last);
  });
}

// The shapes x and y must have, from the images x has.
struct LayerShapes {
  LayerShapes(const Layer::Impl& impl, const ConstImageView& images) {
    const Mask& mask = impl.lowerings->mask();
    const Conv2d& conv = impl.lowerings->conv();
    const ImageSize size{images.height, images.width};
    x = {images.images, mask.shape().in * conv.groups, size, impl.linear};
    if (impl.linear) x.channels = mask.cols();
    y = {images.images, mask.rows(), output_size(mask.shape(), conv, size), impl.linear};
  }

  TensorShape x;
  TensorShape y;
};

void validate_kind(const Layer::Impl& impl, bool linear) {
  if (impl.linear == linear) return;
  throw_error("layer: tensors of {} dimensions, expected {} for a {} layer", linear ? 2 : 4,
              impl.linear ? 2 : 4, impl.linear ? "linear" : "convolution");
}

void run_forward_images(Layer::Impl& impl, const ConstImageView& x, std::span<const float> values,
                        std::span<const float> bias, const ImageView& y) {
  const Mask& m = impl.lowerings->mask();
  const LayerShapes shapes(impl, x);
  validate_input(x, shapes.x, "x");
  validate_output(y, shapes.y, "y");
  validate_array(values, m.nnz(), false, "values");
  validate_array(bias, m.rows(), true, "bias");
  validate_distinct(y.data, x.data, "y", "x");
  if (x.images == 0 || m.rows() == 0) return;
  if (impl.portable()) {
    const LayerSpec spec{m, impl.lowerings->conv(), shapes.x.size};
    run_parallel(impl.runtime->pool, m.rows(), [&](int64_t first, int64_t last) {
      portable_forward(spec, x, values, bias, impl.options.relu, y, first, last);
    });
    return;
  }
  const LoweredLayerPtr lowered = impl.lowerings->get(shapes.x.size);
  PassTensors tensors;
  tensors.x = x;
  tensors.y_or_dx = y;
  tensors.values = values;
  tensors.bias = bias;
  run_pass(impl, lowered, forward_shape(lowered->streams, x, y), tensors);
}

void validate_backward(const Layer::Impl& impl, const PassTensors& t, const LayerShapes& shapes) {
  const Mask& m = impl.lowerings->mask();
  validate_input(t.x, shapes.x, "x");
  validate_input(t.dy, shapes.y, "dy");
  if (!t.y_or_dx.empty()) validate_output(t.y_or_dx, shapes.x, "dx");
  if (impl.options.relu) validate_input(t.gate, shapes.y, "y (the output of a layer with ReLU)");
  validate_array(t.values, m.nnz(), false, "values");
  validate_array(t.d_values, m.nnz(), true, "d_values");
  validate_array(t.d_bias, m.rows(), true, "d_bias");
  validate_distinct(t.y_or_dx.data, t.x.data, "dx", "x");
  validate_distinct(t.y_or_dx.data, t.dy.data, "dx", "dy");
  validate_distinct(t.y_or_dx.data, t.gate.data, "dx", "y");
  validate_distinct(t.d_values.data(), t.values.data(), "d_values", "values");
}

void run_backward_images(Layer::Impl& impl, PassTensors tensors) {
  const LayerShapes shapes(impl, tensors.x);
  validate_backward(impl, tensors, shapes);
  if (!impl.options.relu) tensors.gate = {};
  if (tensors.x.images == 0) {
    std::fill(tensors.d_values.begin(), tensors.d_values.end(), 0.0F);
    std::fill(tensors.d_bias.begin(), tensors.d_bias.end(), 0.0F);
    return;
  }
  const bool want_d_values = !tensors.d_values.empty();
  if (impl.portable() || (!want_d_values && tensors.y_or_dx.empty())) {
    run_portable_backward(impl, {impl.lowerings->mask(), impl.lowerings->conv(), shapes.x.size},
                          tensors);
    return;
  }
  const LoweredLayerPtr lowered = impl.lowerings->get(shapes.x.size);
  const PassShape shape = backward_shape(lowered->streams, {.x = tensors.x,
                                                            .dy = tensors.dy,
                                                            .dx = tensors.y_or_dx,
                                                            .want_d_values = want_d_values,
                                                            .gated = !tensors.gate.empty()});
  run_pass(impl, lowered, shape, tensors);
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
    case Engine::dense:
      return "dense";
  }
  return "?";
}

Layer::Impl::Impl(const Mask& mask, const Conv2d* conv, const LayerOptions& o)
    : options(o),
      linear(conv == nullptr),
      runtime(o.runtime == nullptr ? Runtime::shared().impl() : o.runtime->impl()),
      portable_reason(find_portable_reason(o, runtime->machine)),
      lowerings(std::make_shared<Lowerings>(runtime->cache.known(mask), linear ? Conv2d{} : *conv)),
      variants(runtime, o, linear) {
  // As many as a kernel can have rows: channels, times the phases of strides that taps meet.
  const MaskShape& shape = mask.shape();
  const int64_t phases = std::min(shape.kernel_h, lowerings->conv().stride.h) *
                         std::min(shape.kernel_w, lowerings->conv().stride.w);
  zeros.assign(std::max(shape.out, shape.in * lowerings->conv().groups * phases), 0.0F);
}

Layer::Layer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Layer::Layer(Layer&&) noexcept = default;
Layer& Layer::operator=(Layer&&) noexcept = default;
Layer::~Layer() = default;

void Layer::run_forward(ConstTensorView x, std::span<const float> values,
                        std::span<const float> bias, TensorView y) const {
  validate_kind(*impl_, true);
  run_forward_images(*impl_, as_images(x), values, bias, as_images(y));
}

void Layer::run_forward(ConstImageView x, std::span<const float> values,
                        std::span<const float> bias, ImageView y) const {
  validate_kind(*impl_, false);
  run_forward_images(*impl_, x, values, bias, y);
}

void Layer::run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> values,
                         TensorView dx, std::span<float> d_values, std::span<float> d_bias,
                         ConstTensorView y) const {
  validate_kind(*impl_, true);
  run_backward_images(*impl_, {.x = as_images(x),
                               .dy = as_images(dy),
                               .gate = as_images(y),
                               .y_or_dx = as_images(dx),
                               .values = values,
                               .bias = {},
                               .d_values = d_values,
                               .d_bias = d_bias});
}

void Layer::run_backward(ConstImageView x, ConstImageView dy, std::span<const float> values,
                         ImageView dx, std::span<float> d_values, std::span<float> d_bias,
                         ConstImageView y) const {
  validate_kind(*impl_, false);
  run_backward_images(*impl_, {.x = x,
                               .dy = dy,
                               .gate = y,
                               .y_or_dx = dx,
                               .values = values,
                               .bias = {},
                               .d_values = d_values,
                               .d_bias = d_bias});
}

MaskChange Layer::set_mask(const Mask& new_mask) {
  MaskChange change = compare_masks(mask(), new_mask);
  if (!change.changed()) return change;
  // A choice of engine stays valid while the number of stored weights stays about the same.
  constexpr double kSimilar = 0.1;
  const auto before = static_cast<double>(mask().nnz());
  const auto after = static_cast<double>(new_mask.nnz());
  const bool similar = std::abs(after - before) <= kSimilar * before;
  auto lowerings =
      std::make_shared<Lowerings>(impl_->runtime->cache.known(new_mask), impl_->lowerings->conv());
  // From here on nothing throws: the layer is on the new mask, and the caller learns the change.
  impl_->variants.forget_mask(similar);
  impl_->lowerings = std::move(lowerings);
  const Regeneration regeneration = impl_->variants.regenerate(*impl_->lowerings);
  change.kernels_generated = regeneration.generated;
  change.kernels_reused = regeneration.reused;
  change.chunks_emitted = regeneration.chunks_emitted;
  change.chunks_kept = regeneration.chunks_kept;
  change.code_bytes = regeneration.code_bytes;
  change.compile_seconds = regeneration.seconds;
  return change;
}

const Mask& Layer::mask() const { return impl_->lowerings->mask(); }
bool Layer::is_conv2d() const { return !impl_->linear; }
const Conv2d& Layer::conv2d() const { return impl_->lowerings->conv(); }

ImageSize Layer::output_size(ImageSize input) const {
  return sparsejit::output_size(mask().shape(), conv2d(), input);
}

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

namespace {

// Compiles both passes for tensors that LayerOptions describes.
void compile_ahead(Layer::Impl& impl) {
  const LayerOptions& options = impl.options;
  const ImageSize image = impl.linear ? ImageSize{} : options.image;
  const LoweredLayerPtr lowered = impl.lowerings->get(image);
  // Only strides and alignment are looked at.
  float* const data = impl.zeros.data();
  const auto view_of = [&](int64_t channels, ImageSize size) -> ImageView {
    const int64_t n = options.batch;
    const bool row_major = options.layout == Layout::row_major;
    if (!impl.linear) {
      return row_major ? channels_last(data, n, channels, size.height, size.width)
                       : nchw(data, n, channels, size.height, size.width);
    }
    if (row_major) return as_images(sparsejit::row_major(data, n, channels));
    const int64_t pitch = options.pitch == 0 ? stream_pitch(n) : options.pitch;
    return as_images(feature_major(data, n, channels, pitch));
  };
  const ConvStreams& streams = lowered->streams;
  const int64_t inputs = impl.lowerings->mask().shape().in * impl.lowerings->conv().groups;
  const ImageView x = view_of(inputs, image);
  const ImageView y = view_of(impl.lowerings->mask().rows(), streams.destination.size);
  impl.variants.prepare(lowered, forward_shape(streams, x, y));
  impl.variants.prepare(lowered,
                        backward_shape(streams, {.x = x, .dy = y, .dx = x, .gated = options.relu}));
}

Layer make_layer(const Mask& mask, const Conv2d* conv, const LayerOptions& options) {
  auto impl = std::make_unique<Layer::Impl>(mask, conv, options);
  if (options.batch > 0 && !impl->portable()) compile_ahead(*impl);
  return Layer(std::move(impl));
}

}  // namespace

Layer compile_layer(const Mask& mask, const LayerOptions& options) {
  validate_options(options);
  const MaskShape& shape = mask.shape();
  if (shape.kernel_h != 1 || shape.kernel_w != 1) {
    throw_error(
        "layer: the mask has a {}x{} kernel, expected 1x1 for a linear layer; pass a Conv2d "
        "for a convolution",
        shape.kernel_h, shape.kernel_w);
  }
  if (options.image != ImageSize{}) {
    throw_error("options: image {}x{} of a linear layer, expected 1x1", options.image.height,
                options.image.width);
  }
  return make_layer(mask, nullptr, options);
}

Layer compile_layer(const Mask& mask, const Conv2d& conv, const LayerOptions& options) {
  validate_options(options);
  const Conv2d resolved = resolve_conv2d(mask.shape(), conv);
  if (options.batch > 0) output_size(mask.shape(), resolved, options.image);
  return make_layer(mask, &resolved, options);
}

}  // namespace sparsejit
