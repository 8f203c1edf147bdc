// Changing masks: how value indices move, what is regenerated, and that results follow.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "sparsejit/layer.h"
#include "support/expect_error.h"
#include "support/layer_case.h"
#include "support/mask_edits.h"
#include "support/runtimes.h"
#include "support/sanitized.h"

namespace sparsejit::test {
namespace {

using Indices = std::vector<int64_t>;

const Mask kOld = Mask::from_smtx("2, 4, 4\n0 3 4\n0 1 3 2\n");  // 1101 / 0010
const Mask kNew = Mask::from_smtx("2, 4, 4\n0 2 4\n1 2 0 2\n");  // 0110 / 1010

// The layer on the case's mask must be right, whatever was there before.
void expect_right(const Layer& layer, int64_t batch, uint64_t seed) {
  LayerCase layer_case = {.mask = layer.mask(), .batch = batch};
  layer_case.arrange(Arrangement::feature_major);
  layer_case.seed = seed;
  SCOPED_TRACE(to_text(layer_case));
  expect_matches_reference(layer_case, run_layer(layer, layer_case));
}

TEST(CompareMasks, MapsEveryNewValueToItsOldIndex) {
  const MaskChange change = compare_masks(kOld, kNew);
  EXPECT_EQ(change.old_index, (Indices{1, -1, -1, 3}));
  EXPECT_EQ(change.kept, 2);
  EXPECT_EQ(change.added, 2);
  EXPECT_EQ(change.removed, 2);
  EXPECT_TRUE(change.changed());
}

TEST(CompareMasks, SameMaskIsTheIdentity) {
  const MaskChange change = compare_masks(kOld, Mask::from_smtx(kOld.to_smtx()));
  EXPECT_EQ(change.old_index, (Indices{0, 1, 2, 3}));
  EXPECT_FALSE(change.changed());
}

TEST(CompareMasks, ShrinkingAndGrowingAreEachOthersInverse) {
  const Mask large = Mask::random({9, 11}, 0.5, 1);
  const Mask empty = Mask::random({9, 11}, 1.0, 1);
  EXPECT_EQ(compare_masks(large, empty).removed, large.nnz());
  EXPECT_TRUE(compare_masks(large, empty).old_index.empty());
  EXPECT_EQ(compare_masks(empty, large).old_index, Indices(static_cast<size_t>(large.nnz()), -1));
}

TEST(CompareMasks, AgreesWithTheDefinitionOnRandomMasks) {
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const Mask a = Mask::random({13, 17}, 0.6, seed);
    const Mask b = Mask::random({13, 17}, 0.7, seed + 100);
    std::vector<int64_t> index_of(size_t{13} * 17, -1);
    const auto for_each_entry = [](const Mask& mask, const auto& visit) {
      for (int64_t row = 0; row < mask.rows(); ++row) {
        for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
          visit(static_cast<size_t>(row * mask.cols() + mask.columns()[i]), i);
        }
      }
    };
    for_each_entry(a, [&](size_t at, int64_t i) { index_of[at] = i; });
    Indices expected;
    for_each_entry(b, [&](size_t at, int64_t) { expected.push_back(index_of[at]); });
    EXPECT_EQ(compare_masks(a, b).old_index, expected);
  }
}

TEST(CompareMasks, DifferentShapesAreNamed) {
  expect_error([] { compare_masks(kOld, Mask::random({4, 2}, 0.5, 1)); }, {"4x2", "2x4"});
}

TEST(MaskChange, MoveCarriesValuesAndGivesNewOnesAFreshStart) {
  const MaskChange change = compare_masks(kOld, kNew);
  const std::array<float, 4> values = {10, 11, 12, 13};
  EXPECT_EQ(change.move(values), (std::vector<float>{11, 0, 0, 13}));
  EXPECT_EQ(change.move(values, 0.5F), (std::vector<float>{11, 0.5F, 0.5F, 13}));
}

TEST(MaskChange, MoveNamesAWrongNumberOfValues) {
  const MaskChange change = compare_masks(kOld, kNew);
  const std::array<float, 3> values = {10, 11, 12};
  expect_error([&] { (void)change.move(values); }, {"3", "4"});
}

TEST(SetMask, ResultsFollowTheNewMask) {
  for (const Engine engine : available_engines()) {
    Runtime runtime(with_threads(2));
    Layer layer = forced_layer(Mask::random({30, 40}, 0.5, 1), engine, runtime);
    for (const int64_t batch : {5, 16, 100}) expect_right(layer, batch, 1);
    uint64_t seed = 2;
    for (const double sparsity : {0.9, 0.9, 1.0, 0.3, 0.0, 0.99}) {
      const Mask next = Mask::random({30, 40}, sparsity, ++seed);
      const MaskChange change = layer.set_mask(next);
      EXPECT_EQ(static_cast<int64_t>(change.old_index.size()), next.nnz());
      EXPECT_EQ(layer.mask(), next);
      for (const int64_t batch : {5, 16, 100}) expect_right(layer, batch, seed);
    }
    expect_ran_on(layer, engine);
  }
}

// Values moved by the change, then changed in place by an optimizer, are the ones that run.
TEST(SetMask, LiveValuesAreTheOnesThatRun) {
  Runtime runtime(with_threads(1));
  Layer layer = forced_layer(kOld, Engine::automatic, runtime);
  const std::vector<float> x(size_t{8} * 4, 1.0F);
  std::vector<float> y(size_t{8} * 2);
  std::vector<float> values = {1, 2, 3, 4};
  const auto run = [&] {
    layer.run_forward(feature_major<const float>(x.data(), 8, 4), values, {},
                      feature_major(y.data(), 8, 2));
    return std::pair{y[0], y[8]};
  };
  EXPECT_EQ(run(), (std::pair{6.0F, 4.0F}));
  values = layer.set_mask(kNew).move(values);
  EXPECT_EQ(run(), (std::pair{2.0F, 4.0F}));
  for (float& value : values) value += 0.5F;
  EXPECT_EQ(run(), (std::pair{3.0F, 5.0F}));
}

class SetMaskNative : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  }
};

TEST_F(SetMaskNative, UnchangedMaskRegeneratesNothing) {
  Runtime runtime(with_threads(1));
  Layer layer = forced_layer(kOld, Engine::native, runtime);
  expect_right(layer, 16, 1);
  const RuntimeStats before = runtime.stats();
  const MaskChange change = layer.set_mask(Mask::from_smtx(kOld.to_smtx()));
  EXPECT_FALSE(change.changed());
  EXPECT_EQ(change.kernels_generated, 0);
  EXPECT_EQ(runtime.stats().cache_misses, before.cache_misses);
  EXPECT_EQ(runtime.stats().compile_seconds, before.compile_seconds);
  expect_right(layer, 16, 2);
}

TEST_F(SetMaskNative, ChangeGeneratesTheKernelsOfEveryShapeSeen) {
  Runtime runtime(with_threads(1));
  Layer layer = forced_layer(Mask::random({20, 20}, 0.5, 1), Engine::native, runtime);
  expect_right(layer, 16, 1);
  expect_right(layer, 32, 1);
  const int64_t misses = runtime.stats().cache_misses;
  ASSERT_GE(misses, 4) << "forward and backward for two batch sizes";
  const MaskChange change = layer.set_mask(Mask::random({20, 20}, 0.5, 2));
  EXPECT_EQ(change.kernels_generated, misses);
  EXPECT_EQ(change.kernels_reused, 0);
  EXPECT_GT(change.code_bytes, 0);
  EXPECT_GT(change.compile_seconds, 0);
  EXPECT_EQ(runtime.stats().cache_misses, 2 * misses);
  expect_right(layer, 16, 2);
  expect_right(layer, 32, 2);
  EXPECT_EQ(runtime.stats().cache_misses, 2 * misses) << "the next calls had to compile";
}

TEST_F(SetMaskNative, FlippingBackIsACacheHit) {
  Runtime runtime(with_threads(1));
  Layer layer = forced_layer(kOld, Engine::native, runtime);
  expect_right(layer, 16, 1);
  const int64_t kernels = runtime.stats().kernels;
  layer.set_mask(kNew);
  const RuntimeStats before = runtime.stats();
  const MaskChange change = layer.set_mask(kOld);
  EXPECT_TRUE(change.changed());
  EXPECT_EQ(change.kernels_generated, 0);
  EXPECT_EQ(change.kernels_reused, kernels);
  EXPECT_EQ(change.code_bytes, 0);
  EXPECT_EQ(runtime.stats().cache_misses, before.cache_misses);
  EXPECT_EQ(runtime.stats().cache_hits, before.cache_hits + kernels);
  expect_right(layer, 16, 2);
}

TEST_F(SetMaskNative, OnlyChunksThatChangedAreEmitted) {
  Runtime runtime(with_threads(2));
  const Mask first = Mask::random({400, 300}, 0.8, 1);
  Layer layer = forced_layer(first, Engine::native, runtime);
  expect_right(layer, 100, 1);
  const int64_t whole = runtime.stats().code_bytes;
  const MaskChange change = layer.set_mask(with_other_last_rows(first, 3, 2));
  EXPECT_GT(change.chunks_kept, change.chunks_emitted);
  EXPECT_LT(change.code_bytes, whole * 3 / 4) << "backward is emitted in full, forward is not";
  expect_right(layer, 100, 2);
  expect_ran_on(layer, Engine::native);
}

// Kernels that share chunks with kernels that are gone, over and over, stay right and bounded.
TEST_F(SetMaskNative, ManySmallChangesKeepCodeBounded) {
  constexpr int64_t kBudget = 6 << 20;
  Runtime runtime(with_code_budget(kBudget, 2));
  Layer layer = forced_layer(Mask::random({400, 300}, 0.8, 1), Engine::native, runtime);
  expect_right(layer, 100, 1);
  int64_t kept = 0;
  for (uint64_t seed = 2; seed < 60; ++seed) {
    const auto rows = static_cast<int64_t>(seed % 5);
    kept += layer.set_mask(with_other_last_rows(layer.mask(), rows, seed)).chunks_kept;
    ASSERT_LE(runtime.stats().code_bytes, kBudget);
    expect_right(layer, 100, seed);
  }
  EXPECT_GT(kept, 100);
  expect_ran_on(layer, Engine::native);
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST_F(SetMaskNative, TenThousandChangesKeepMemoryFlat) {
  constexpr int64_t kBudget = 256 << 10;
  Runtime runtime(with_code_budget(kBudget));
  Layer layer = forced_layer(Mask::random({16, 16}, 0.8, 0), Engine::native, runtime);
  expect_right(layer, 8, 1);
  int64_t warm = 0;
  const uint64_t updates = kSanitized ? 1000 : 10000;
  for (uint64_t update = 1; update <= updates; ++update) {
    layer.set_mask(Mask::random({16, 16}, 0.8, update));
    ASSERT_LE(runtime.stats().code_bytes, kBudget);
    if (update % 500 == 0) expect_right(layer, 8, update);
    if (update == 2000) warm = resident_bytes();
  }
  EXPECT_GT(runtime.stats().evictions, static_cast<int64_t>(updates) * 9 / 10);
  expect_ran_on(layer, Engine::native);
  if (kSanitized) return;
  EXPECT_LT(resident_bytes() - warm, 2 << 20);
}

}  // namespace
}  // namespace sparsejit::test
