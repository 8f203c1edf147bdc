// Activations whose elements lie more than 2 GiB apart: address space is reserved, and only the
// pages that hold elements are ever touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "support/layer_case.h"
#include "support/random.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class ReservedFloats {
 public:
  explicit ReservedFloats(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(float)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ReservedFloats(const ReservedFloats&) = delete;
  ReservedFloats& operator=(const ReservedFloats&) = delete;
  ~ReservedFloats() {
    if (ok()) munmap(memory_, bytes_);
  }
  bool ok() const { return memory_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(memory_); }

 private:
  size_t bytes_;
  void* memory_;
};

constexpr int64_t kFeatures = 3;

class Large : public ::testing::TestWithParam<Engine> {
 protected:
  // Feature-major with `pitch` floats between features; every weight stored.
  void check(int64_t batch, int64_t pitch) {
    const ReservedFloats x(pitch * (kFeatures - 1) + batch);
    const ReservedFloats y(pitch * (kFeatures - 1) + batch);
    if (!x.ok() || !y.ok()) GTEST_SKIP() << "no address space of this size";
    const Mask mask = Mask::random({kFeatures, kFeatures}, 0.0, 1);
    const LayerInputs inputs = random_inputs(mask, batch, true, 1);
    const LayerReference reference = reference_layer(mask, batch, inputs);
    const TensorView x_view = feature_major(x.data(), batch, kFeatures, pitch);
    const TensorView y_view = feature_major(y.data(), batch, kFeatures, pitch);
    const Layer layer = forced_layer(mask, GetParam(), runtime_);
    write(x_view, inputs.x);
    layer.run_forward(x_view, inputs.values, inputs.bias, y_view);
    expect_near(read(y_view), reference.y, "y");
    write(y_view, inputs.dy);
    std::vector<float> d_values(inputs.values.size());
    std::vector<float> dx(static_cast<size_t>(batch * kFeatures));
    layer.run_backward(x_view, y_view, inputs.values, row_major(dx.data(), batch, kFeatures),
                       d_values, {});
    expect_near(dx, reference.dx, "dx");
    expect_near(d_values, reference.d_values, "d_values");
  }

  static void write(const TensorView& view, const std::vector<float>& contents) {
    for (int64_t b = 0; b < view.batch; ++b) {
      for (int64_t f = 0; f < view.features; ++f) {
        view.data[b * view.batch_stride + f * view.feature_stride] =
            contents[b * view.features + f];
      }
    }
  }
  static std::vector<float> read(const TensorView& view) {
    std::vector<float> contents;
    for (int64_t b = 0; b < view.batch; ++b) {
      for (int64_t f = 0; f < view.features; ++f) {
        contents.push_back(view.data[b * view.batch_stride + f * view.feature_stride]);
      }
    }
    return contents;
  }

  Runtime runtime_{with_threads(1)};
};

TEST_P(Large, FeaturesJustBelowTwoGigabytesApart) {
  for (const int64_t batch : {16, 75}) check(batch, ((int64_t{1} << 31) - 4096) / 4);
}

TEST_P(Large, FeaturesTwoGigabytesApart) {
  for (const int64_t batch : {16, 75}) check(batch, (int64_t{1} << 31) / 4);
}

TEST_P(Large, FeaturesFiveGigabytesApart) {
  for (const int64_t batch : {16, 75}) check(batch, (int64_t{5} << 30) / 4);
}

// The last feature is beyond 2 GiB, though each step is not.
TEST_P(Large, LastFeatureBeyondTwoGigabytes) {
  for (const int64_t batch : {16, 75}) check(batch, (int64_t{5} << 28) / 4);
}

INSTANTIATE_TEST_SUITE_P(Engines, Large, ::testing::ValuesIn(available_engines()),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

}  // namespace
}  // namespace sparsejit::test
