// Bytes become a small layer, which runs both passes on each engine in guarded buffers, then again
// after set_mask. Results are compared with the reference in double; native and interpreted with
// each other, bit for bit. A geometry that cannot be must be refused with Error, and only then.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "fuzz/fuzz_entries.h"
#include "fuzz/kernel_case.h"
#include "sparsejit/error.h"

namespace sparsejit::test {
namespace {

// Of the naive reference, in products: a few milliseconds.
constexpr int64_t kMaxWork = 1 << 18;
constexpr int64_t kMaxFloats = 1 << 16;

Runtime make_runtime(const FuzzSetting& setting) {
  static const MachineModel real = detect_machine();
  MachineModel machine = real;
  if (setting.l2_bytes != 0) machine.l2_bytes = setting.l2_bytes;
  RuntimeOptions options;
  options.threads = setting.threads;
  options.machine = std::make_shared<const MachineModel>(machine);
  return Runtime(options);
}

void expect_no_fallback(const Layer& layer, Engine engine) {
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.engine, engine) << report.reason;
  }
}

// `compile` makes the layer of a case on an engine, `run` runs both passes of it.
template <typename Case, typename Compile, typename Run>
void run_engines(const Case& first, const FuzzSetting& setting, Compile compile, Run run) {
  std::optional<LayerOutputs> native, native_next;
  for (const Engine engine : available_engines()) {
    SCOPED_TRACE(to_text(engine));
    Runtime runtime = make_runtime(setting);
    Case c = first;
    Layer layer = compile(c, engine, runtime);
    const LayerRun before = run(layer, c);
    layer.set_mask(setting.next_mask);
    c.mask = setting.next_mask;
    const LayerRun after = run(layer, c);
    expect_no_fallback(layer, engine);
    expect_matches_reference(first, before);
    expect_matches_reference(c, after);
    if (engine == Engine::native) {
      native = before.outputs;
      native_next = after.outputs;
    } else if (engine == Engine::interpreted) {
      expect_same_bits(before.outputs, *native);
      expect_same_bits(after.outputs, *native_next);
    }
  }
}

// Compiles and asks for the output's size; empty when the geometry was refused.
std::optional<ImageSize> try_geometry(const FuzzConv& fuzz) {
  Runtime runtime = make_runtime(fuzz.setting);
  try {
    const Layer layer = forced_conv(fuzz.conv, Engine::automatic, runtime);
    return layer.output_size(fuzz.conv.size);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_small(const ConvCase& c, ImageSize out) {
  const auto pixels = [](ImageSize size) { return size.height * size.width; };
  const int64_t densest = c.mask.rows() * c.mask.cols();
  return pixels(c.size) < kMaxFloats && pixels(out) < kMaxFloats && c.conv.groups < kMaxFloats &&
         c.images * c.in_channels() * pixels(c.size) < kMaxFloats &&
         c.images * c.mask.rows() * pixels(out) < kMaxFloats &&
         c.images * densest * pixels(out) < kMaxWork;
}

void run_linear_case(ByteReader& reader) {
  const FuzzLinear fuzz = read_linear(reader);
  SCOPED_TRACE(to_text(fuzz.layer));
  run_engines(
      fuzz.layer, fuzz.setting,
      [](const LayerCase& c, Engine engine, Runtime& runtime) {
        return forced_layer(c.mask, engine, runtime);
      },
      run_layer);
}

void run_conv_case(ByteReader& reader) {
  const FuzzConv fuzz = read_conv(reader);
  SCOPED_TRACE(to_text(fuzz.conv));
  const std::optional<ImageSize> out = try_geometry(fuzz);
  // Sizes beyond what is supported may be refused too.
  if (!fuzz.wild && out.has_value() != is_possible(fuzz.conv)) {
    throw FuzzFailure(out ? "a geometry that cannot be was accepted" : "a geometry was refused");
  }
  if (out && is_small(fuzz.conv, *out)) {
    run_engines(fuzz.conv, fuzz.setting, forced_conv, run_conv);
  }
}

}  // namespace

void fuzz_kernels(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  if (reader.flag()) {
    run_conv_case(reader);
  } else {
    run_linear_case(reader);
  }
}

}  // namespace sparsejit::test
