// Layer for Python.
//
// A tensor is (address, shape, strides): an int and two tuples of ints, strides in floats. Tuples
// have two entries for a linear layer, (batch, features), and four for a convolution, NCHW. An
// array is (address, length). Address 0 means absent.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <mutex>
#include <shared_mutex>

#include "bindings.h"
#include "log.h"
#include "sparsejit/error.h"
#include "sparsejit/layer.h"

namespace nb = nanobind;

namespace sparsejit::python {
namespace {

using Address = uintptr_t;

// What torch.Tensor.data_ptr() gives is an int.
float* floats_at(Address address) {
  return reinterpret_cast<float*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// A layer, and the lock that keeps set_mask apart from runs of other Python threads.
class SharedLayer {
 public:
  explicit SharedLayer(Layer layer) : layer_(std::move(layer)) {}

  template <typename Call>
  void run(Call call) const {
    {
      const nb::gil_scoped_release unlocked;
      const std::shared_lock<std::shared_mutex> lock(mutex_);
      call(layer_);
    }
    warn_of_log_lines();
  }

  MaskChange set_mask(const Mask& mask) {
    MaskChange change;
    {
      const nb::gil_scoped_release unlocked;
      const std::lock_guard<std::shared_mutex> lock(mutex_);
      change = layer_.set_mask(mask);
    }
    warn_of_log_lines();
    return change;
  }

 private:
  Layer layer_;
  mutable std::shared_mutex mutex_;
};

using Extents = std::array<int64_t, 4>;

Extents extents_of(const nb::tuple& tuple, size_t dimensions) {
  if (tuple.size() != dimensions) {
    throw_error("tensor: {} dimensions, expected {}", tuple.size(), dimensions);
  }
  Extents extents{};
  for (size_t i = 0; i < dimensions; ++i) extents[i] = nb::cast<int64_t>(tuple[i]);
  return extents;
}

struct Tensor {
  Tensor(Address address, const nb::tuple& shape_tuple, const nb::tuple& stride_tuple)
      : data(floats_at(address)) {
    if (data == nullptr) return;
    dimensions = shape_tuple.size();
    shape = extents_of(shape_tuple, dimensions == 2 ? 2 : 4);
    strides = extents_of(stride_tuple, dimensions);
  }

  TensorView matrix() const {
    if (data == nullptr) return {};
    return {data, shape[0], shape[1], strides[0], strides[1]};
  }
  ImageView images() const {
    if (data == nullptr) return {};
    return {data,       shape[0],   shape[1],   shape[2],  shape[3],
            strides[0], strides[1], strides[2], strides[3]};
  }

  float* data;
  size_t dimensions = 0;
  Extents shape{};
  Extents strides{};
};

std::span<float> array_of(Address address, size_t length) {
  return {floats_at(address), address == 0 ? 0 : length};
}

void run_forward(const SharedLayer& layer, Address x, const nb::tuple& x_shape,
                 const nb::tuple& x_strides, Address values, size_t nnz, Address bias,
                 size_t bias_length, Address y, const nb::tuple& y_shape,
                 const nb::tuple& y_strides) {
  const Tensor in(x, x_shape, x_strides);
  const Tensor out(y, y_shape, y_strides);
  const std::span<float> stored = array_of(values, nnz);
  const std::span<float> start = array_of(bias, bias_length);
  layer.run([&](const Layer& l) {
    if (in.dimensions == 2) {
      l.run_forward(in.matrix(), stored, start, out.matrix());
    } else {
      l.run_forward(in.images(), stored, start, out.images());
    }
  });
}

// dx has the shape of x, y that of dy; both may be absent.
void run_backward(const SharedLayer& layer, Address x, const nb::tuple& x_shape,
                  const nb::tuple& x_strides, Address dy, const nb::tuple& dy_shape,
                  const nb::tuple& dy_strides, Address values, size_t nnz, Address dx,
                  const nb::tuple& dx_strides, Address d_values, Address d_bias, size_t bias_length,
                  Address y, const nb::tuple& y_strides) {
  const Tensor in(x, x_shape, x_strides);
  const Tensor gradient(dy, dy_shape, dy_strides);
  const Tensor in_gradient(dx, x_shape, dx_strides);
  const Tensor out(y, dy_shape, y_strides);
  const std::span<float> stored = array_of(values, nnz);
  const std::span<float> stored_gradient = array_of(d_values, nnz);
  const std::span<float> bias_gradient = array_of(d_bias, bias_length);
  layer.run([&](const Layer& l) {
    if (in.dimensions == 2) {
      l.run_backward(in.matrix(), gradient.matrix(), stored, in_gradient.matrix(), stored_gradient,
                     bias_gradient, out.matrix());
    } else {
      l.run_backward(in.images(), gradient.images(), stored, in_gradient.images(), stored_gradient,
                     bias_gradient, out.images());
    }
  });
}

// stride h, w; padding top, bottom, left, right; dilation h, w; groups
using ConvNumbers = std::array<int64_t, 9>;

Conv2d conv_of(const ConvNumbers& n) {
  return {.stride = PerAxis(n[0], n[1]),
          .padding = Padding2d(n[2], n[3], n[4], n[5]),
          .dilation = PerAxis(n[6], n[7]),
          .groups = n[8]};
}

void compile(SharedLayer* self, const Mask& mask, const std::optional<ConvNumbers>& conv, bool relu,
             bool background, int64_t expected_calls, bool deterministic, Runtime& runtime) {
  LayerOptions options;
  options.compile = background ? CompileMode::background : CompileMode::immediate;
  options.expected_calls = expected_calls;
  options.deterministic = deterministic;
  options.relu = relu;
  options.runtime = &runtime;
  new (self) SharedLayer(conv ? compile_layer(mask, conv_of(*conv), options)
                              : compile_layer(mask, options));
}

const char* name_of(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

std::vector<nb::dict> report_of(const SharedLayer& layer) {
  std::vector<KernelReport> reports;
  layer.run([&](const Layer& l) { reports = l.report(); });
  std::vector<nb::dict> result;
  for (const KernelReport& report : reports) {
    nb::dict entry;
    entry["pass"] = name_of(report.pass);
    entry["batch"] = report.batch;
    entry["engine"] = to_text(report.engine);
    entry["reason"] = report.reason;
    entry["code_bytes"] = report.code_bytes;
    entry["compile_seconds"] = report.compile_seconds;
    entry["native_seconds"] = report.native_seconds;
    entry["interpreted_seconds"] = report.interpreted_seconds;
    result.push_back(std::move(entry));
  }
  return result;
}

std::string explain(const SharedLayer& layer) {
  std::string text;
  layer.run([&](const Layer& l) { text = l.explain(); });
  return text;
}

using TorchIndices = nb::ndarray<nb::pytorch, int64_t, nb::ndim<1>>;

TorchIndices old_index(const MaskChange& change) {
  auto* owned = new std::vector<int64_t>(change.old_index);
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
  return {owned->data(), {owned->size()}, owner};
}

}  // namespace

void bind_layer(nb::module_& module) {
  nb::class_<MaskChange>(module, "MaskChange")
      .def("old_index", &old_index)
      .def_ro("kept", &MaskChange::kept)
      .def_ro("added", &MaskChange::added)
      .def_ro("removed", &MaskChange::removed)
      .def_ro("kernels_generated", &MaskChange::kernels_generated)
      .def_ro("kernels_reused", &MaskChange::kernels_reused)
      .def_ro("code_bytes", &MaskChange::code_bytes)
      .def_ro("compile_seconds", &MaskChange::compile_seconds);
  nb::class_<SharedLayer>(module, "Layer")
      .def("__init__", &compile, nb::arg("mask"), nb::arg("conv").none(), nb::arg("relu"),
           nb::arg("background"), nb::arg("expected_calls"), nb::arg("deterministic"),
           nb::arg("runtime"))
      .def("run_forward", &run_forward)
      .def("run_backward", &run_backward)
      .def("set_mask", &SharedLayer::set_mask)
      .def("report", &report_of)
      .def("explain", &explain);
  module.def("compare_masks", &compare_masks, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace sparsejit::python
