// The only file that sees oneDNN. A Slot is one tensor in the layout some primitive wants.
#include "dense_conv.h"

#include <algorithm>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "matrix.h"
#include "sparsejit/error.h"

// Of OpenMP's run-time library, which Debian's oneDNN runs on. <omp.h> belongs to one compiler.
extern "C" {
void omp_set_dynamic(int dynamic);
void omp_set_num_threads(int threads);
int omp_get_max_threads();
int omp_get_thread_limit();
}

namespace sparsejit::frontend {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
using Arguments = std::unordered_map<int, memory>;
// Takes Winograd's for the weights of 3x3 where that is faster: 1.3 to 1.5 times, both gradients of
// 128 -> 256 on 7x7 to 56x56, AVX-512.
constexpr auto kAlgorithm = dnnl::algorithm::convolution_auto;

void set_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  if (omp_get_max_threads() != threads || omp_get_thread_limit() < threads) {
    throw_error("--threads: {}, expected at most the {} that OpenMP allows oneDNN", threads,
                std::min(omp_get_max_threads(), omp_get_thread_limit()));
  }
}

// Extents and geometry in oneDNN's terms; its dilation counts the pixels left out.
struct Geometry {
  explicit Geometry(const DenseConvShape& shape)
      : strides{shape.conv.stride.h, shape.conv.stride.w},
        dilations{shape.conv.dilation.h - 1, shape.conv.dilation.w - 1},
        before{shape.conv.padding.top, shape.conv.padding.left},
        after{shape.conv.padding.bottom, shape.conv.padding.right} {
    const MaskShape& weight_shape = shape.weight;
    const ImageSize output = output_size(weight_shape, shape.conv, shape.input);
    const int64_t groups = shape.conv.groups;
    x = {shape.images, weight_shape.in * groups, shape.input.height, shape.input.width};
    y = {shape.images, weight_shape.out, output.height, output.width};
    weight = {weight_shape.out / groups, weight_shape.in, weight_shape.kernel_h,
              weight_shape.kernel_w};
    if (groups > 1) weight.insert(weight.begin(), groups);
    bias = {weight_shape.out};
  }

  memory::dims x, y, weight, bias;
  memory::dims strides, dilations, before, after;
};

memory::desc any_layout(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

// NCHW, OIHW, or OIHW of each group after the other.
memory::desc plain_layout(const memory::dims& dims) {
  constexpr memory::format_tag kByRank[] = {memory::format_tag::a, memory::format_tag::ab,
                                            memory::format_tag::abc, memory::format_tag::abcd,
                                            memory::format_tag::abcde};
  return {dims, memory::data_type::f32, kByRank[dims.size() - 1]};
}

class Slot {
 public:
  Slot() = default;
  Slot(const dnnl::engine& engine, const memory::desc& layout)
      : floats_(static_cast<int64_t>(layout.get_size() / sizeof(float))),
        buffer_(allocate_floats(floats_)),
        memory_(layout, engine, buffer_.get()) {}

  const memory& get() const { return memory_; }
  void poison() { std::fill_n(buffer_.get(), floats_, std::numeric_limits<float>::quiet_NaN()); }
  void set(dnnl::stream& stream, const memory::dims& dims, const float* plain) {
    // oneDNN's handles are not const, but a source is only read.
    const memory source(plain_layout(dims), memory_.get_engine(), const_cast<float*>(plain));
    copy(stream, source, memory_);
  }
  void get(dnnl::stream& stream, const memory::dims& dims, float* plain) const {
    copy(stream, memory_, memory(plain_layout(dims), memory_.get_engine(), plain));
  }

 private:
  static void copy(dnnl::stream& stream, memory from, memory to) {
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
  }

  int64_t floats_ = 0;
  AlignedFloats buffer_;
  memory memory_;
};

Forward::primitive_desc describe_forward(const Geometry& g, bool bias, const dnnl::engine& engine) {
  const memory::desc bias_layout = bias ? plain_layout(g.bias) : memory::desc();
  return {{dnnl::prop_kind::forward_training, kAlgorithm, any_layout(g.x), any_layout(g.weight),
           bias_layout, any_layout(g.y), g.strides, g.dilations, g.before, g.after},
          engine};
}

BackwardData::primitive_desc describe_backward_data(const Geometry& g,
                                                    const Forward::primitive_desc& forward,
                                                    const dnnl::engine& engine) {
  return {{kAlgorithm, any_layout(g.x), any_layout(g.weight), any_layout(g.y), g.strides,
           g.dilations, g.before, g.after},
          engine,
          forward};
}

BackwardWeights::primitive_desc describe_backward_weights(const Geometry& g, bool bias,
                                                          const Forward::primitive_desc& forward,
                                                          const dnnl::engine& engine) {
  const memory::desc bias_layout = bias ? plain_layout(g.bias) : memory::desc();
  return {{kAlgorithm, any_layout(g.x), any_layout(g.weight), bias_layout, any_layout(g.y),
           g.strides, g.dilations, g.before, g.after},
          engine,
          forward};
}

}  // namespace

struct DenseConv::Impl {
  explicit Impl(const DenseConvShape& wanted)
      : shape(wanted),
        geometry(shape),
        engine(dnnl::engine::kind::cpu, 0),
        stream(engine),
        forward(describe_forward(geometry, shape.bias, engine)),
        backward_weights(describe_backward_weights(geometry, shape.bias, forward, engine)),
        run_forward(forward),
        run_backward_weights(backward_weights),
        x(engine, forward.src_desc()),
        weight(engine, forward.weights_desc()),
        y(engine, forward.dst_desc()),
        x_of_weights(engine, backward_weights.src_desc()),
        dy_of_weights(engine, backward_weights.diff_dst_desc()),
        d_weight(engine, backward_weights.diff_weights_desc()),
        bias(engine, plain_layout(geometry.bias)),
        d_bias(engine, plain_layout(geometry.bias)) {
    forward_arguments = {{DNNL_ARG_SRC, x.get()},
                         {DNNL_ARG_WEIGHTS, weight.get()},
                         {DNNL_ARG_BIAS, bias.get()},
                         {DNNL_ARG_DST, y.get()}};
    weights_arguments = {{DNNL_ARG_SRC, x_of_weights.get()},
                         {DNNL_ARG_DIFF_DST, dy_of_weights.get()},
                         {DNNL_ARG_DIFF_WEIGHTS, d_weight.get()},
                         {DNNL_ARG_DIFF_BIAS, d_bias.get()}};
    if (!shape.bias) {
      forward_arguments.erase(DNNL_ARG_BIAS);
      weights_arguments.erase(DNNL_ARG_DIFF_BIAS);
    }
    if (shape.want_dx) add_backward_data();
  }

  void add_backward_data() {
    backward_data = describe_backward_data(geometry, forward, engine);
    run_backward_data = BackwardData(backward_data);
    weight_of_data = Slot(engine, backward_data.weights_desc());
    dy_of_data = Slot(engine, backward_data.diff_dst_desc());
    dx = Slot(engine, backward_data.diff_src_desc());
    data_arguments = {{DNNL_ARG_DIFF_DST, dy_of_data.get()},
                      {DNNL_ARG_WEIGHTS, weight_of_data.get()},
                      {DNNL_ARG_DIFF_SRC, dx.get()}};
  }

  DenseConvShape shape;
  Geometry geometry;
  dnnl::engine engine;
  dnnl::stream stream;
  Forward::primitive_desc forward;
  BackwardWeights::primitive_desc backward_weights;
  BackwardData::primitive_desc backward_data;
  Forward run_forward;
  BackwardWeights run_backward_weights;
  BackwardData run_backward_data;
  Slot x, weight, y;
  Slot x_of_weights, dy_of_weights, d_weight;
  Slot bias, d_bias;
  Slot weight_of_data, dy_of_data, dx;
  Arguments forward_arguments, weights_arguments, data_arguments;
};

DenseConv::DenseConv(const DenseConvShape& shape, int threads) {
  set_threads(threads);
  try {
    impl_ = std::make_unique<Impl>(shape);
  } catch (const dnnl::error& error) {
    throw_error("oneDNN refuses this convolution: {}", error.what());
  }
}

DenseConv::DenseConv(DenseConv&&) noexcept = default;
DenseConv& DenseConv::operator=(DenseConv&&) noexcept = default;
DenseConv::~DenseConv() = default;

void DenseConv::set_inputs(const float* x, const float* dy, const float* weight,
                           const float* bias) {
  Impl& d = *impl_;
  d.x.set(d.stream, d.geometry.x, x);
  d.x_of_weights.set(d.stream, d.geometry.x, x);
  d.weight.set(d.stream, d.geometry.weight, weight);
  d.dy_of_weights.set(d.stream, d.geometry.y, dy);
  if (d.shape.bias) d.bias.set(d.stream, d.geometry.bias, bias);
  if (!d.shape.want_dx) return;
  d.weight_of_data.set(d.stream, d.geometry.weight, weight);
  d.dy_of_data.set(d.stream, d.geometry.y, dy);
}

void DenseConv::poison_outputs() {
  Impl& d = *impl_;
  for (Slot* slot : {&d.y, &d.dx, &d.d_weight, &d.d_bias}) slot->poison();
}

void DenseConv::run_forward() {
  Impl& d = *impl_;
  d.run_forward.execute(d.stream, d.forward_arguments);
  d.stream.wait();
}

void DenseConv::run_backward() {
  Impl& d = *impl_;
  if (d.shape.want_dx) d.run_backward_data.execute(d.stream, d.data_arguments);
  d.run_backward_weights.execute(d.stream, d.weights_arguments);
  d.stream.wait();
}

void DenseConv::get_y(float* y) const { impl_->y.get(impl_->stream, impl_->geometry.y, y); }
void DenseConv::get_dx(float* dx) const { impl_->dx.get(impl_->stream, impl_->geometry.x, dx); }
void DenseConv::get_d_weight(float* d_weight) const {
  impl_->d_weight.get(impl_->stream, impl_->geometry.weight, d_weight);
}
void DenseConv::get_d_bias(float* d_bias) const {
  impl_->d_bias.get(impl_->stream, impl_->geometry.bias, d_bias);
}

std::string DenseConv::forward_implementation() const { return impl_->forward.impl_info_str(); }

std::string DenseConv::backward_implementation() const {
  std::string of_weights = impl_->backward_weights.impl_info_str();
  if (!impl_->shape.want_dx) return of_weights;
  const std::string of_data = impl_->backward_data.impl_info_str();
  return of_data == of_weights ? of_data : of_data + "+" + of_weights;
}

std::string dense_conv_library() {
  const dnnl_version_t* version = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace sparsejit::frontend
