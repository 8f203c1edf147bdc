// Batch normalization for Python. Addresses as in bind_layer.cc; a shape is (images, channels,
// pixels).
#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <thread>
#include <vector>

#include "batch_norm.h"
#include "bindings.h"
#include "sparsejit/error.h"

namespace nb = nanobind;

namespace sparsejit::python {
namespace {

using Address = uintptr_t;
using Sizes = std::array<int64_t, 3>;

constexpr int64_t kElementsPerThread = int64_t{1} << 17;

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

// Calls run(channels) for all of them in parts, on up to `threads` threads, which are started anew:
// 20 us each, where the smallest part takes 50.
template <typename Run>
void split_channels(const NormShape& shape, int threads, Run run) {
  const int64_t elements = shape.images * shape.channels * shape.pixels;
  const int64_t parts = std::clamp<int64_t>(elements / kElementsPerThread, 1,
                                            std::clamp<int64_t>(threads, 1, shape.channels));
  const auto run_part = [&](int64_t part) {
    run({shape.channels * part / parts, shape.channels * (part + 1) / parts});
  };
  std::vector<std::jthread> others;
  int64_t part = 1;
  try {
    for (; part < parts; ++part) others.emplace_back(run_part, part);
  } catch (const std::system_error&) {
    for (; part < parts; ++part) run_part(part);  // no more threads to be had
  }
  run_part(0);
}

void forward(const Sizes& sizes, Address weight, Address bias, double epsilon, bool relu, Address x,
             Address y, Address mean, Address variance, int threads) {
  const NormShape shape = shape_of(sizes);
  const NormParameters parameters = parameters_of(weight, bias, epsilon, relu);
  split_channels(shape, threads, [&](ChannelRange channels) {
    batch_norm_forward(shape, parameters, channels, floats_at(x), floats_at(y), floats_at(mean),
                       floats_at(variance));
  });
}

void backward(const Sizes& sizes, Address weight, Address bias, double epsilon, bool relu,
              Address x, Address dy, Address mean, Address variance, Address dx, Address d_weight,
              Address d_bias, int threads) {
  const NormShape shape = shape_of(sizes);
  const NormParameters parameters = parameters_of(weight, bias, epsilon, relu);
  split_channels(shape, threads, [&](ChannelRange channels) {
    batch_norm_backward(shape, parameters, channels, floats_at(x), floats_at(dy), floats_at(mean),
                        floats_at(variance), floats_at(dx), floats_at(d_weight), floats_at(d_bias));
  });
}

}  // namespace

void bind_batch_norm(nb::module_& module) {
  module.def("batch_norm_forward", &forward, nb::call_guard<nb::gil_scoped_release>());
  module.def("batch_norm_backward", &backward, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace sparsejit::python
