// What the extension `sparsejit._core` is made of: one function for each part of the library. The
// Python package wraps these; nothing here is public.
//
// PyTorch is not linked. Activations arrive as addresses with shapes and strides; the Python side
// has checked type and device and keeps the tensors alive during the call.
// The interpreter's lock is released while kernels are generated or run.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsejit::python {

void bind_batch_norm(nanobind::module_& module);
void bind_mask(nanobind::module_& module);
void bind_runtime(nanobind::module_& module);
void bind_layer(nanobind::module_& module);

}  // namespace sparsejit::python
