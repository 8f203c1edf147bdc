// Layer: one sparse layer, ready to run. `compile_layer(mask)` makes it.
//
//     Mask mask = Mask::from_nonzeros(weight, {3072, 768});       // out x in
//     Layer layer = compile_layer(mask);
//     layer.run_forward(x, values, bias, y);                      // y = x W^T + bias
//     layer.run_backward(x, dy, values, dx, d_values, d_bias);
//     MaskChange change = layer.set_mask(new_mask);
//     values = change.move(values);
//
//     Mask mask = Mask::from_nonzeros(weight, {256, 128, 3, 3});  // out, in / groups, kernel h, w
//     Layer conv = compile_layer(mask, Conv2d{.stride = 2, .padding = 1});
//     conv.run_forward(nchw(x, n, 128, h, w), values, bias, nchw(y, n, 256, h / 2, w / 2));
//
// Values are the stored weights in row-major order of the mask (`weight[mask]`), float32.
// All outputs are overwritten, never added to. A pruned weight does not touch its input: a NaN in
// x reaches only outputs with a stored weight in its column, where a dense product would spread
// it to all (0 * NaN). Gradients exist at stored weights only.
// Where dy is infinite in the last samples, a gradient of a value may be NaN instead of infinite;
// padding of a convolution counts as zeros that are multiplied, as in dense.
//
// Engines: native runs generated code, interpreted runs the same plan with AVX2 intrinsics,
// portable is plain C++. native and interpreted agree bit for bit; portable agrees within
// rounding. Their results do not depend on the number of threads. Machine code is generated when a
// pass first meets a shape (or at once, with LayerOptions::batch) and is shared through the cache.
//
// dense multiplies by the dense weight, zeros included, with the function that the Runtime was
// given (RuntimeOptions::sgemm; without it no layer does). Sums are in another order there: results
// agree within rounding, and those of a layer whose engine is automatic may differ by rounding from
// call to call while candidates are measured. A pruned weight does multiply its input: 0 * NaN.
//
// Errors: wrong shapes, strides, sizes or null data throw Error before anything is written.
// Thread-safety: run_forward and run_backward may be called from several threads at once on one
// layer; set_mask must not overlap any other call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sparsejit/conv2d.h"
#include "sparsejit/mask.h"
#include "sparsejit/plan.h"
#include "sparsejit/runtime.h"
#include "sparsejit/tensor_view.h"

namespace sparsejit {

enum class Engine { automatic, native, interpreted, portable, dense };
const char* to_text(Engine engine);

// feature_major: each feature's samples are adjacent; of images, NCHW. row_major: each sample's
// features are adjacent; of images, channels-last.
enum class Layout { feature_major, row_major };

// background: the layer runs at once on the interpreted engine while one thread of the lowest
// priority compiles, and changes to generated code when that is ready, between two calls. Results
// are the same bits before and after.
enum class CompileMode { immediate, background };

struct LayerOptions {
  // automatic predicts which candidates are far too slow, measures the others in turn on the first
  // calls of each shape and keeps the fastest. A forced engine that cannot run here falls back;
  // explain() says why.
  Engine engine = Engine::automatic;
  CompileMode compile = CompileMode::immediate;
  // Calls of each pass expected before the mask changes; 0: many. Where compiling would not pay for
  // itself by then, automatic stays with the interpreted engine; explain() gives the numbers.
  int64_t expected_calls = 0;
  // The engine of a shape is chosen when it is first met, by prediction instead of by clocks, and
  // stays until the mask changes; `compile` is then immediate. (Results never depend on the
  // engine: this is for reproducible times and for debugging.)
  bool deterministic = false;
  // With batch > 0 both passes are compiled for it at once, for tensors of `layout`;
  // feature-major ones with the distance `pitch` between features (0: stream_pitch(batch)).
  int64_t batch = 0;
  Layout layout = Layout::feature_major;
  int64_t pitch = 0;
  // Convolutions with batch > 0: the size of the input images they are compiled for.
  ImageSize image{};
  // y = max(0, ...), in the kernels. run_backward then needs the y of run_forward: the gradient
  // passes where y > 0 (or NaN).
  bool relu = false;
  Runtime* runtime = nullptr;  // null: Runtime::shared()
};

// How value indices moved when a mask changed. Indices are row-major positions among the stored.
struct MaskChange {
  std::vector<int64_t> old_index;  // for each new value: its old index, or -1 if it is new
  int64_t kept = 0;
  int64_t added = 0;
  int64_t removed = 0;
  int64_t kernels_generated = 0;  // compiled anew; those made in the background are not counted
  int64_t kernels_reused = 0;     // found in the cache
  // Chunks of the kernels generated (see plan.h): emitted, and kept from the kernels of the old
  // mask because their rows and the places of their values did not change.
  int64_t chunks_emitted = 0;
  int64_t chunks_kept = 0;
  int64_t code_bytes = 0;  // emitted
  double compile_seconds = 0;

  bool changed() const { return added != 0 || removed != 0; }
  // Carries values or optimizer state over; new weights start at `fresh`.
  std::vector<float> move(std::span<const float> old_values, float fresh = 0.0F) const;
};

// One of the ways to run a pass of one shape.
struct CandidateReport {
  std::string name;  // "native", "native tiled", "interpreted", "dense"; an engine may have several
  Engine engine = Engine::automatic;
  double predicted_seconds = 0;  // of a call on one thread; 0: not needed
  double measured_seconds = 0;   // median of the calls measured; 0: none
  std::string note;              // why it was left out, if it was
  bool runs = false;             // in the next call
};

// What runs for one pass and shape, and why. Times are medians of the calls measured, 0 if none.
// The portable engine compiles nothing and has one report a pass, for any batch.
struct KernelReport {
  Pass pass = Pass::forward;
  bool want_dx = true;  // backward
  bool want_d_values = true;
  int64_t batch = 0;  // samples or images
  ImageSize image{};  // input of a convolution
  // Images whose streams are laid end to end: one where they are used in place or large, more where
  // small ones are merged. Of a linear layer: samples of a panel.
  int64_t images_per_slab = 0;
  Engine engine = Engine::automatic;  // automatic while still measuring, unless one was asked for
  std::string candidate;              // the name of what the next call runs; empty while measuring
  bool measuring = false;             // candidates are tried in turn
  std::string reason;
  std::vector<CandidateReport> candidates;
  std::vector<Plan> plans;  // of the steps the engine takes; while measuring, in the next call
  int64_t code_bytes = 0;   // of the generated code, 0 if none is held
  double compile_seconds = 0;
  double native_seconds = 0;
  double interpreted_seconds = 0;
};

class Layer {
 public:
  // x (batch, cols), y (batch, rows), values nnz; bias rows or empty.
  void run_forward(ConstTensorView x, std::span<const float> values, std::span<const float> bias,
                   TensorView y) const;

  // d_values nnz; dx may be empty (TensorView{}) when no gradient of the input is needed, d_values
  // (frozen weights) and d_bias may be empty too. `y`: of layers with ReLU, what run_forward wrote.
  void run_backward(ConstTensorView x, ConstTensorView dy, std::span<const float> values,
                    TensorView dx, std::span<float> d_values, std::span<float> d_bias,
                    ConstTensorView y = {}) const;

  // The same for convolutions: x (images, in * groups, h, w), y (images, rows, output_size). The
  // size of the images may differ from call to call.
  void run_forward(ConstImageView x, std::span<const float> values, std::span<const float> bias,
                   ImageView y) const;
  void run_backward(ConstImageView x, ConstImageView dy, std::span<const float> values,
                    ImageView dx, std::span<float> d_values, std::span<float> d_bias,
                    ConstImageView y = {}) const;

  // Replaces the mask (same shape). Kernels for the shapes seen so far are made ready for the new
  // mask; an unchanged mask costs a comparison.
  MaskChange set_mask(const Mask& mask);

  const Mask& mask() const;
  bool is_conv2d() const;
  const Conv2d& conv2d() const;  // padding 'same' as numbers; the default for linear layers
  ImageSize output_size(ImageSize input) const;
  std::vector<KernelReport> report() const;
  std::string explain() const;  // the report as text

  struct Impl;
  explicit Layer(std::unique_ptr<Impl> impl);
  Layer(Layer&&) noexcept;
  Layer& operator=(Layer&&) noexcept;
  ~Layer();

 private:
  std::unique_ptr<Impl> impl_;
};

// A linear layer; the mask's kernel is 1x1.
Layer compile_layer(const Mask& mask, const LayerOptions& options = {});
// A convolution; a mask {OC, IC / groups, KH, KW}.
Layer compile_layer(const Mask& mask, const Conv2d& conv, const LayerOptions& options = {});

// The value index map from one mask to another of the same shape; what set_mask returns, without
// a layer.
MaskChange compare_masks(const Mask& old_mask, const Mask& new_mask);

}  // namespace sparsejit
