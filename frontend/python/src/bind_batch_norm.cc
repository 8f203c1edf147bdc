// Batch normalization for Python. Addresses as in bind_layer.cc; a shape is (images, channels,
// pixels).
#include <nanobind/stl/array.h>

#include <array>

#include "batch_norm.h"
#include "bindings.h"
#include "sparsejit/error.h"

namespace nb = nanobind;

namespace sparsejit::python {
namespace {

using Address = uintptr_t;
using Sizes = std::array<int64_t, 3>;

float* floats_at(Address address) {
  return reinterpret_cast<float*>(address);  // NOLINT(performance-no-int-to-ptr)
}

NormShape shape_of(const Sizes& sizes) {
  for (const int64_t size : sizes) {
    if (size < 1) throw_error("batch norm: a size of {}, expected at least 1", size);
  }
  return {sizes[0], sizes[1], sizes[2]};
}

NormParameters parameters_of(Address weight, Address bias, double epsilon, bool relu) {
  return {floats_at(weight), floats_at(bias), static_cast<float>(epsilon), relu};
}

void forward(const Sizes& sizes, Address weight, Address bias, double epsilon, bool relu, Address x,
             Address y, Address mean, Address variance, int threads) {
  batch_norm_forward(shape_of(sizes), parameters_of(weight, bias, epsilon, relu), floats_at(x),
                     floats_at(y), floats_at(mean), floats_at(variance), threads);
}

void backward(const Sizes& sizes, Address weight, Address bias, double epsilon, bool relu,
              Address x, Address dy, Address mean, Address variance, Address dx, Address d_weight,
              Address d_bias, int threads) {
  batch_norm_backward(shape_of(sizes), parameters_of(weight, bias, epsilon, relu), floats_at(x),
                      floats_at(dy), floats_at(mean), floats_at(variance), floats_at(dx),
                      floats_at(d_weight), floats_at(d_bias), threads);
}

}  // namespace

void bind_batch_norm(nb::module_& module) {
  module.def("batch_norm_forward", &forward, nb::call_guard<nb::gil_scoped_release>());
  module.def("batch_norm_backward", &backward, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace sparsejit::python
