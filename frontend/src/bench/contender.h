// Contender: one engine ready to run the passes of one problem, with what is known about it before
// it is timed. Makers: make_layer_contender (the library's engines), make_paper_contender and
// make_dense_contender, make_onednn_contender and make_mkl_contender for linear layers,
// make_paper_conv_contender and make_dense_conv_contender
// for convolutions. A maker that cannot run here returns no contender and a reason, which the
// report prints: a missing row is never silent.
//
//     make -> verify_contender (throws if wrong) -> measure
//
// A contender refers to the Problem and Runtime it was made with; both must outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bench/evictor.h"
#include "bench/options.h"
#include "bench/problem.h"
#include "bench/reference.h"
#include "sparsejit/layer.h"

namespace sparsejit::frontend {

// One entry for each Pass.
template <typename T>
using PerPass = std::array<T, 2>;
inline constexpr size_t index_of(Pass pass) { return pass == Pass::forward ? 0 : 1; }

struct Contender {
  BenchEngine engine = BenchEngine::native;
  std::function<void(Pass)> run;
  // Of contenders that write to tensors of their own: fills those with NaN, and copies them to the
  // problem's. Empty: run leaves results in the problem.
  std::function<void()> poison_outputs{};
  std::function<void()> collect_outputs{};
  PerPass<Layout> layout = {};       // of the problem's tensors that hold the results
  PerPass<std::string> ran_on = {};  // name of that layout, or which of its kernels it took
  PerPass<int64_t> code_bytes = {};
  PerPass<double> compile_ms = {};
  PerPass<double> max_rel_error = {};
};

struct ContenderResult {
  std::optional<Contender> contender;
  std::string reason;  // why there is none
};

// native, interpreted or portable, forced. A layer that fell back to another engine is no
// contender: its row would carry the wrong name. Where the engine has several kinds of kernels its
// layer chooses among them with caches as they are when it is timed: cold with an evictor.
ContenderResult make_layer_contender(Problem& problem, BenchEngine engine, Runtime& runtime,
                                     Evictor* evictor = nullptr);

// The paper's loop: always on feature-major tensors, always one thread.
ContenderResult make_paper_contender(Problem& problem, const Runtime& runtime);

// OpenBLAS with the runtime's number of threads, each pass on the layout that is faster for it.
ContenderResult make_dense_contender(Problem& problem, const Runtime& runtime);

// Either of the paper's kernels for convolutions; one thread. Without `kernel` whichever is faster
// for the pass.
enum class PaperKernel { rows, batch_innermost };
ContenderResult make_paper_conv_contender(Problem& problem, const Runtime& runtime,
                                          std::optional<PaperKernel> kernel = {});

// oneDNN with the runtime's number of threads, in layouts of its own choice: of convolutions the
// dense engine, of linear layers another one beside OpenBLAS.
ContenderResult make_dense_conv_contender(Problem& problem, const Runtime& runtime);
ContenderResult make_onednn_contender(Problem& problem, const Runtime& runtime);

// MKL's sparse times dense product where MKL is installed; see mkl_contender.cc.
ContenderResult make_mkl_contender(Problem& problem, const Runtime& runtime);

// Runs both passes on poisoned outputs and stores max_rel_error; throws Error above kMaxRelError.
void verify_contender(Problem& problem, const Reference& reference, Contender& contender);

// What Layer::report says about a pass of this workload, once it has run. The portable engine has
// no kernels to report.
std::optional<KernelReport> find_report(const Layer& layer, const Workload& workload, Pass pass);
Engine engine_of(const std::optional<KernelReport>& report);

// A layer for the workload. It compiles when a pass first runs, so it holds kernels for just what
// the workload calls (backward with or without dx) and find_report is unambiguous.
Layer make_layer(const Problem& problem, Engine engine, Runtime& runtime);
void run_layer(const Layer& layer, Problem& problem, Pass pass);

}  // namespace sparsejit::frontend
