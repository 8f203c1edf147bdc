// Runtime and MachineModel for Python.
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "log.h"
#include "sparsejit/plan.h"
#include "sparsejit/runtime.h"

namespace nb = nanobind;

namespace sparsejit::python {
namespace {

nb::dict stats_of(const Runtime& runtime) {
  const RuntimeStats stats = runtime.stats();
  nb::dict result;
  result["kernels"] = stats.kernels;
  result["code_bytes"] = stats.code_bytes;
  result["cache_hits"] = stats.cache_hits;
  result["cache_misses"] = stats.cache_misses;
  result["compile_failures"] = stats.compile_failures;
  result["evictions"] = stats.evictions;
  result["compile_seconds"] = stats.compile_seconds;
  return result;
}

nb::dict machine_of(const Runtime& runtime) {
  const MachineModel& machine = runtime.machine();
  nb::dict result;
  result["cpu"] = machine.cpu;
  result["avx2_fma"] = machine.avx2_fma;
  result["avx512"] = machine.avx512;
  result["unrolled_isa"] = machine.unrolled_isa.name;
  result["l1_bytes"] = machine.l1_bytes;
  result["l2_bytes"] = machine.l2_bytes;
  result["l3_bytes"] = machine.l3_bytes;
  result["cores"] = machine.cores;
  return result;
}

// A model has many layers: BERT-base at 95% takes 470 MiB of code.
constexpr int64_t kCodeBudgetBytes = int64_t{1} << 30;

}  // namespace

void bind_runtime(nb::module_& module) {
  nb::class_<Runtime>(module, "Runtime")
      .def(
          "__init__",
          [](Runtime* self, int threads) {
            RuntimeOptions options;
            options.threads = threads;
            options.code_budget_bytes = kCodeBudgetBytes;
            options.log = keep_log_line;
            new (self) Runtime(options);
          },
          nb::arg("threads"))
      .def("stats", &stats_of)
      .def("machine", &machine_of)
      .def("executable_memory_problem", &Runtime::executable_memory_problem);
  module.def("stream_pitch", &stream_pitch, nb::arg("length"));
}

}  // namespace sparsejit::python
