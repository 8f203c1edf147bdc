// oneDNN as a contender; see contender.h. A linear layer is a 1x1 convolution over one image that
// is a row of `batch` pixels.
//
// Tensors are in the layouts oneDNN asks for before anything is timed, whatever the workload's
// layout: sparse is compared with dense at its best. Backward is two products, as in
// dense_contender.
#include <algorithm>
#include <functional>
#include <memory>
#include <span>

#include "bench/contender.h"
#include "dense_conv.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

DenseConvShape dense_shape(const Workload& workload) {
  const Extents sizes = extents(workload);
  return {
      sizes.images,         weight_shape(workload), workload.conv ? workload.conv->conv : Conv2d{},
      sizes.input,          workload.bias,          workload.want_dx,
      workload.dense_direct};
}

// As oneDNN reads and writes plain tensors: without the gaps that streams of linear layers have.
AlignedFloats make_tight(const Activation& activation) {
  return allocate_floats(activation.images() * activation.channels() * activation.pixels());
}

// Calls copy(stream of the activation, stream of the tight copy) for every channel of every image.
void for_each_stream(
    Activation& activation, float* tight,
    const std::function<void(std::span<float> stream, std::span<float> tight)>& copy) {
  const auto pixels = static_cast<size_t>(activation.pixels());
  for (int64_t image = 0; image < activation.images(); ++image) {
    for (int64_t channel = 0; channel < activation.channels(); ++channel, tight += pixels) {
      copy({activation.stream(channel, image), pixels}, {tight, pixels});
    }
  }
}

AlignedFloats tight_copy(Activation& activation) {
  AlignedFloats tight = make_tight(activation);
  for_each_stream(activation, tight.get(), [](std::span<float> from, std::span<float> to) {
    std::copy(from.begin(), from.end(), to.begin());
  });
  return tight;
}

void copy_back(float* tight, Activation& activation) {
  for_each_stream(activation, tight, [](std::span<float> to, std::span<float> from) {
    std::copy(from.begin(), from.end(), to.begin());
  });
}

void collect(const DenseConv& dense, Problem& problem) {
  Activations& tensors = problem.feature_major;
  const AlignedFloats y = make_tight(tensors.y);
  dense.get_y(y.get());
  copy_back(y.get(), tensors.y);
  if (problem.workload.want_dx) {
    const AlignedFloats dx = make_tight(tensors.dx);
    dense.get_dx(dx.get());
    copy_back(dx.get(), tensors.dx);
  }
  if (problem.workload.bias) dense.get_d_bias(problem.d_bias.data());
  const AlignedFloats d_weight = allocate_floats(problem.mask.rows() * problem.mask.cols());
  dense.get_d_weight(d_weight.get());
  gather_d_values(problem, d_weight.get());
}

ContenderResult make_contender(Problem& problem, const Runtime& runtime, BenchEngine engine) {
  std::shared_ptr<DenseConv> dense;
  try {
    dense = std::make_shared<DenseConv>(dense_shape(problem.workload), runtime.threads());
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
  const AlignedFloats x = tight_copy(problem.feature_major.x);
  const AlignedFloats dy = tight_copy(problem.feature_major.dy);
  dense->set_inputs(x.get(), dy.get(), make_dense_weight(problem).get(), problem.bias.data());
  Contender contender;
  contender.engine = engine;
  contender.run = [dense](Pass pass) {
    pass == Pass::forward ? dense->run_forward() : dense->run_backward();
  };
  contender.poison_outputs = [dense] { dense->poison_outputs(); };
  contender.collect_outputs = [dense, &problem] { collect(*dense, problem); };
  contender.layout.fill(Layout::feature_major);
  contender.ran_on = {dense->forward_implementation(), dense->backward_implementation()};
  return {contender, ""};
}

}  // namespace

ContenderResult make_dense_conv_contender(Problem& problem, const Runtime& runtime) {
  return make_contender(problem, runtime, BenchEngine::dense);
}

ContenderResult make_onednn_contender(Problem& problem, const Runtime& runtime) {
  if (problem.workload.conv) return {std::nullopt, "dense is oneDNN for convolutions already"};
  return make_contender(problem, runtime, BenchEngine::onednn);
}

}  // namespace sparsejit::frontend
