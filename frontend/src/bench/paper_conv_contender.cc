// The paper's kernels for convolutions as a contender; see contender.h and paper_conv.h.
//
// Its tensors are NCHW whatever the workload's layout. Each pass runs on the kernel that was faster
// in a short trial, with its permutations: forward permutes x and y; backward dy and dx, and finds
// x permuted, since the paper's library keeps what forward permuted.
#include <memory>

#include "bench/baseline_bias.h"
#include "bench/contender.h"
#include "bench/paper_conv.h"
#include "bench/trial.h"

namespace sparsejit::frontend {
namespace {

struct PermutedTensors {
  AlignedFloats x;
  AlignedFloats dy;
  AlignedFloats y;
  AlignedFloats dx;
};

struct PaperConvLayer {
  Problem& problem;
  std::vector<PaperTap> taps;
  PermutedTensors permuted;

  PaperConv description() const {
    const Workload& workload = problem.workload;
    const Extents sizes = extents(workload);
    return {.images = sizes.images,
            .in = workload.in,
            .out = workload.out,
            .in_height = sizes.input.height,
            .in_width = sizes.input.width,
            .out_height = sizes.output.height,
            .out_width = sizes.output.width,
            .row_stride = workload.conv->conv.stride.h,
            .column_stride = workload.conv->conv.stride.w,
            .row_begin = problem.mask.row_begin().data(),
            .taps = taps.data(),
            .values = problem.values.data()};
  }
  const float* bias() const { return problem.workload.bias ? problem.bias.data() : nullptr; }
  int64_t x_plane() const { return problem.workload.in * problem.feature_major.x.pixels(); }
  int64_t y_plane() const { return problem.workload.out * problem.feature_major.y.pixels(); }
};

std::vector<PaperTap> list_taps(const Problem& problem) {
  const Mask& mask = problem.mask;
  const MaskShape& shape = mask.shape();
  const Conv2d& conv = problem.workload.conv->conv;
  const int64_t kernel = shape.kernel_h * shape.kernel_w;
  const int64_t group_rows = shape.out / conv.groups;
  std::vector<PaperTap> taps;
  for (int64_t row = 0; row < mask.rows(); ++row) {
    for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
      const int64_t column = mask.columns()[i];
      taps.push_back({row / group_rows * shape.in + column / kernel,
                      column % kernel / shape.kernel_w * conv.dilation.h - conv.padding.top,
                      column % shape.kernel_w * conv.dilation.w - conv.padding.left});
    }
  }
  return taps;
}

PermutedTensors allocate_permuted(const PaperConvLayer& layer) {
  const int64_t pitch = paper_batch_pitch(layer.problem.workload.batch);
  return {allocate_floats(layer.x_plane() * pitch), allocate_floats(layer.y_plane() * pitch),
          allocate_floats(layer.y_plane() * pitch), allocate_floats(layer.x_plane() * pitch)};
}

void batch_run(PaperConvLayer& layer, Pass pass) {
  const PaperConv conv = layer.description();
  PermutedTensors& permuted = layer.permuted;
  Activations& tensors = layer.problem.feature_major;
  if (pass == Pass::forward) {
    permute_to_batch_innermost(tensors.x.data(), conv.images, layer.x_plane(), permuted.x.get());
    paper_batch_forward(conv, permuted.x.get(), layer.bias(), permuted.y.get());
    permute_from_batch_innermost(permuted.y.get(), conv.images, layer.y_plane(), tensors.y.data());
    return;
  }
  const bool want_dx = layer.problem.workload.want_dx;
  permute_to_batch_innermost(tensors.dy.data(), conv.images, layer.y_plane(), permuted.dy.get());
  paper_batch_backward(conv, permuted.x.get(), permuted.dy.get(),
                       want_dx ? permuted.dx.get() : nullptr, layer.problem.d_values.data());
  if (!want_dx) return;
  permute_from_batch_innermost(permuted.dx.get(), conv.images, layer.x_plane(), tensors.dx.data());
}

void rows_run(PaperConvLayer& layer, Pass pass) {
  const PaperConv conv = layer.description();
  Activations& tensors = layer.problem.feature_major;
  if (pass == Pass::forward) {
    paper_rows_forward(conv, tensors.x.data(), layer.bias(), tensors.y.data());
  } else {
    paper_rows_backward(conv, tensors.x.data(), tensors.dy.data(),
                        layer.problem.workload.want_dx ? tensors.dx.data() : nullptr,
                        layer.problem.d_values.data());
  }
}

void paper_run(PaperConvLayer& layer, Pass pass, PaperKernel kernel) {
  kernel == PaperKernel::rows ? rows_run(layer, pass) : batch_run(layer, pass);
  if (pass == Pass::backward && layer.problem.workload.bias) {
    sum_d_bias(layer.problem, Layout::feature_major);
  }
}

bool rows_can_run(const Problem& problem) { return problem.workload.conv->conv.stride.w == 1; }

PaperKernel faster_kernel(PaperConvLayer& layer, Pass pass) {
  const auto seconds = [&](PaperKernel kernel) {
    return best_trial_seconds([&] { paper_run(layer, pass, kernel); });
  };
  const double batch = seconds(PaperKernel::batch_innermost);
  return rows_can_run(layer.problem) && seconds(PaperKernel::rows) <= batch
             ? PaperKernel::rows
             : PaperKernel::batch_innermost;
}

std::string kernel_text(PaperKernel kernel, const Problem& problem) {
  if (kernel == PaperKernel::rows) return "rows";
  return rows_can_run(problem) ? "batch-innermost"
                               : "batch-innermost (rows needs a column stride of 1)";
}

}  // namespace

ContenderResult make_paper_conv_contender(Problem& problem, const Runtime& runtime,
                                          std::optional<PaperKernel> kernel) {
  if (!runtime.machine().avx2_fma) return {std::nullopt, "this CPU lacks AVX2 or FMA"};
  if (runtime.threads() > 1) return {std::nullopt, "it runs on one thread only"};
  if (kernel == PaperKernel::rows && !rows_can_run(problem)) {
    return {std::nullopt, "rows needs a column stride of 1"};
  }
  const auto layer =
      std::make_shared<PaperConvLayer>(PaperConvLayer{problem, list_taps(problem), {}});
  layer->permuted = allocate_permuted(*layer);
  permute_to_batch_innermost(problem.feature_major.x.data(), problem.workload.batch,
                             layer->x_plane(), layer->permuted.x.get());
  PerPass<PaperKernel> kernels = {};
  Contender contender;
  contender.engine = BenchEngine::paper_loop;
  for (const Pass pass : kBothPasses) {
    const size_t p = index_of(pass);
    kernels[p] = kernel ? *kernel : faster_kernel(*layer, pass);
    contender.ran_on[p] = kernel_text(kernels[p], problem);
  }
  contender.run = [layer, kernels](Pass pass) { paper_run(*layer, pass, kernels[index_of(pass)]); };
  contender.layout.fill(Layout::feature_major);
  return {contender, ""};
}

}  // namespace sparsejit::frontend
