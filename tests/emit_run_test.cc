// Emitted code run directly, without the runtime: chunk by chunk over guarded buffers of the plan's
// pitches, against the naive reference. Tiled kernels: tiled_run_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "sparsejit/emit.h"
#include "support/executable.h"
#include "support/guarded_buffer.h"
#include "support/plans.h"
#include "support/random.h"
#include "support/reference.h"

namespace sparsejit::test {
namespace {

// Feature-major streams at a pitch, flush against unmapped pages.
class Streams {
 public:
  Streams(int64_t streams, int64_t length, int64_t pitch, Edge edge)
      : streams_(streams),
        length_(length),
        pitch_(pitch),
        buffer_(streams == 0 ? 0 : (streams - 1) * pitch + length, edge) {
    buffer_.fill(std::numeric_limits<float>::quiet_NaN());
  }
  float* at(int64_t offset) { return buffer_.data() + offset; }
  // `contents` is row-major (length, streams), as reference_layer has it.
  void write(const std::vector<float>& contents) {
    for (int64_t s = 0; s < streams_; ++s) {
      for (int64_t t = 0; t < length_; ++t) at(s * pitch_)[t] = contents[t * streams_ + s];
    }
  }
  std::vector<float> read() {
    std::vector<float> contents(static_cast<size_t>(length_ * streams_));
    for (int64_t s = 0; s < streams_; ++s) {
      for (int64_t t = 0; t < length_; ++t) contents[t * streams_ + s] = at(s * pitch_)[t];
    }
    return contents;
  }
  bool intact() const { return buffer_.canary_intact(); }

 private:
  int64_t streams_;
  int64_t length_;
  int64_t pitch_;
  GuardedBuffer buffer_;
};

struct Prepared {
  const Mask& mask;
  const KernelCase& kernel;
  Edge edge;
  LayerInputs inputs;
  LayerReference reference;
  TapTable table;
  Plan plan;
  KernelCode code;
};

Prepared prepare(const Mask& mask, const KernelCase& kernel, Edge edge,
                 const MachineModel& machine) {
  Prepared run{mask, kernel, edge, {}, {}, {}, {}, {}};
  run.inputs.x = random_floats(kernel.request.length * mask.cols(), 1);
  run.inputs.dy = random_floats(kernel.request.length * mask.rows(), 2);
  run.inputs.values = random_floats(mask.nnz(), 3);
  run.inputs.bias = random_floats(mask.rows(), 4);
  run.reference = reference_layer(mask, kernel.request.length, run.inputs);
  run.table = kernel.table(mask);
  KernelRequest whole = kernel.request;  // buffers hold whole streams, not packed panels
  const int64_t pitch = stream_pitch(kernel.request.length);
  whole.pitches = {.gathered = pitch, .own = pitch, .paired = pitch};
  run.plan = plan_kernel(run.table, whole, machine);
  EmitResult result = emit_kernel(run.table, run.plan);
  if (!result.code) throw std::runtime_error(result.reason);
  run.code = std::move(*result.code);
  return run;
}

// How a panel of `length` floats is split between the loop and the tail (see KernelArguments). A
// plan with a tail has one in every panel: the last vector, where the length is a multiple.
void set_panel(KernelArguments& arguments, const Plan& plan, int64_t length) {
  static const std::vector<int32_t> kMasks = {0,  0,  0,  0,  0,  0,  0,  0,
                                              -1, -1, -1, -1, -1, -1, -1, -1};
  const int64_t loop = plan.tail ? (length - 1) / 8 * 8 : length;
  arguments.loop_bytes = 4 * loop;
  arguments.tail_offset = 4 * (length - 8 - loop);
  arguments.tail_mask = plan.tail ? &kMasks[static_cast<size_t>(length - loop)] : nullptr;
}

// Calls run_panel(first sample, arguments with the panel set, entry) in the plan's order. The last
// panel takes the samples that make no whole vector.
template <typename RunChunk>
void for_each_call(const Prepared& run, const RunChunk& run_chunk) {
  const ExecutableCode code(run.code);
  const int64_t length = run.kernel.request.length;
  for (int64_t at = 0; at < length;) {
    const int64_t left = length - at;
    const int64_t panel = left < run.plan.panel + 8 ? left : run.plan.panel;
    KernelArguments arguments;
    set_panel(arguments, run.plan, panel);
    for (size_t chunk = 0; chunk < run.plan.chunks.size(); ++chunk) {
      run_chunk(at, arguments, run.plan.chunks[chunk].value_base, code.chunk(chunk));
    }
    at += panel;
  }
}

GuardedBuffer guarded_copy(const std::vector<float>& contents, Edge edge) {
  GuardedBuffer buffer(static_cast<int64_t>(contents.size()), edge);
  std::copy(contents.begin(), contents.end(), buffer.data());
  buffer.make_read_only();
  return buffer;
}

// Values as the plan reads them: by value index, or in the order of the table.
std::vector<float> plan_values(const Prepared& run) {
  if (!run.plan.packed_values) return run.inputs.values;
  std::vector<float> packed;
  for (const Tap& tap : run.table.taps) packed.push_back(run.inputs.values[tap.value]);
  return packed;
}

// The streams of one tensor of the layer; outputs start as NaN.
Streams make_streams(const Prepared& run, int64_t streams, int64_t pitch,
                     const std::vector<float>* contents) {
  Streams result(streams, run.kernel.request.length, pitch, run.edge);
  if (contents != nullptr) result.write(*contents);
  return result;
}

// Gradients by value index, whatever order the plan has them in.
std::vector<float> by_value_index(const Prepared& run, const GuardedBuffer& d_values) {
  std::vector<float> result(d_values.floats().begin(), d_values.floats().end());
  for (size_t i = 0; run.plan.packed_values && i < result.size(); ++i) {
    result[run.table.taps[i].value] = d_values.data()[i];
  }
  return result;
}

// The table of plan.h: on the forward side x is gathered, y is own, dy is paired; on the backward
// side dy is gathered, dx is own, x is paired.
void check(const Prepared& run) {
  const bool forward = run.kernel.side == Pass::forward;
  const KernelKind kind = run.plan.kind;
  const LayerInputs& in = run.inputs;
  Streams gathered =
      make_streams(run, run.table.streams, run.plan.pitches.gathered, forward ? &in.x : &in.dy);
  Streams own = make_streams(run, run.table.rows(), run.plan.pitches.own, nullptr);
  Streams paired =
      make_streams(run, run.table.rows(), run.plan.pitches.paired, forward ? &in.dy : &in.x);
  const GuardedBuffer values = guarded_copy(plan_values(run), run.edge);
  const GuardedBuffer start = guarded_copy(
      forward ? in.bias : std::vector<float>(static_cast<size_t>(run.table.rows())), run.edge);
  GuardedBuffer d_values(run.mask.nnz(), run.edge);
  d_values.fill(run.plan.packed_values ? 0.0F : std::numeric_limits<float>::quiet_NaN());
  for_each_call(run,
                [&](int64_t at, KernelArguments arguments, int64_t value_base, ChunkEntry entry) {
                  arguments.gathered = gathered.at(at);
                  if (kind != KernelKind::products) arguments.own = own.at(at);
                  if (kind != KernelKind::accumulate) arguments.paired = paired.at(at);
                  arguments.values = values.data() + value_base;
                  arguments.start_or_d_values = start.data();
                  if (kind != KernelKind::accumulate)
                    arguments.start_or_d_values = d_values.data() + value_base;
                  entry(&arguments);
                });
  if (kind != KernelKind::products) {
    expect_near(own.read(), forward ? run.reference.y : run.reference.dx, "own");
  }
  if (kind != KernelKind::accumulate) {
    expect_near(by_value_index(run, d_values), run.reference.d_values, "d_values");
  }
  EXPECT_TRUE(own.intact());
  EXPECT_TRUE(d_values.canary_intact());
}

class EmitRun : public ::testing::TestWithParam<Edge> {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }
};

TEST_P(EmitRun, MatchesTheReference) {
  for (const Mask& mask : assorted_masks()) {
    for (const KernelCase& kernel : assorted_cases()) {
      if (kernel.request.tiled) continue;
      for (const MachineModel& machine : made_up_machines()) {
        if (!can_run_code_for(machine)) continue;
        SCOPED_TRACE(fmt::format("{}, {}x{} mask, {}", to_text(kernel), mask.rows(), mask.cols(),
                                 to_text(machine)));
        check(prepare(mask, kernel, GetParam(), machine));
      }
    }
  }
}

TEST_P(EmitRun, MatchesTheReferenceForEveryGroupSize) {
  for (int64_t taps = 0; taps <= 30; ++taps) {
    const Mask wide = Mask::random({1, 30}, 1.0 - static_cast<double>(taps) / 30, 1);
    const Mask tall = Mask::random({30, 1}, 1.0 - static_cast<double>(taps) / 30, 1);
    for (const KernelCase& kernel : assorted_cases()) {
      if (kernel.request.tiled) continue;
      SCOPED_TRACE(fmt::format("{}, {} taps in the row", to_text(kernel), taps));
      const Mask& mask = kernel.side == Pass::forward ? wide : tall;
      for (const MachineModel& machine : made_up_machines()) {
        if (can_run_code_for(machine)) check(prepare(mask, kernel, GetParam(), machine));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, EmitRun, ::testing::Values(Edge::end, Edge::start),
                         [](const auto& edge) {
                           return edge.param == Edge::end ? "FlushToTheEnd" : "FlushToTheStart";
                         });

}  // namespace
}  // namespace sparsejit::test
