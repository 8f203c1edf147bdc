// The extension module: registers the parts and how errors become Python exceptions.
#include "bindings.h"
#include "sparsejit/error.h"

namespace nb = nanobind;

namespace {

void translate_error(const std::exception_ptr& error, void* /*unused*/) {
  try {
    std::rethrow_exception(error);
  } catch (const sparsejit::Error& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const sparsejit::InternalError& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

}  // namespace

NB_MODULE(_core, module) {
  // Models and runtimes that live until the interpreter ends are no leaks.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate_error, nullptr);
  sparsejit::python::bind_mask(module);
  sparsejit::python::bind_runtime(module);
  sparsejit::python::bind_layer(module);
  sparsejit::python::bind_batch_norm(module);
}
