// Masks of pruned networks, from files outside the project: skipped where they are absent. Empty
// rows and columns, rows many times the mean, masks without any stored weight.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

std::vector<std::filesystem::path> mask_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = SPARSEJIT_MASKS_DIR;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".smtx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class RealMasks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (files_.empty()) GTEST_SKIP() << "no masks in " << SPARSEJIT_MASKS_DIR;
  }

  const std::vector<std::filesystem::path> files_ = mask_files();
};

TEST_F(RealMasks, AreReadAndWrittenBack) {
  for (const auto& file : files_) {
    SCOPED_TRACE(file.filename());
    const Mask mask = Mask::load_smtx(file.string());
    EXPECT_GT(mask.rows(), 0);
    EXPECT_EQ(Mask::from_smtx(mask.to_smtx()), mask);
  }
}

TEST_F(RealMasks, EveryEngineMatchesTheReference) {
  Runtime runtime(with_threads(2));
  for (const auto& file : files_) {
    LayerCase layer_case = {.mask = Mask::load_smtx(file.string())};
    for (const Engine engine : available_engines()) {
      const Layer layer = forced_layer(layer_case.mask, engine, runtime);
      for (const int64_t batch : {8, 77}) {
        layer_case.batch = batch;
        layer_case.arrange(batch == 8 ? Arrangement::feature_major_padded : Arrangement::row_major);
        SCOPED_TRACE(file.filename().string() + ", " + to_text(layer_case));
        expect_matches_reference(layer_case, run_layer(layer, layer_case));
      }
      expect_ran_on(layer, engine);
    }
  }
}

// A kernel's size is no reason to leave the native engine, and it is reported.
TEST_F(RealMasks, TheLargestCompilesAndReportsItsCode) {
  if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
  Mask largest;
  for (const auto& file : files_) {
    const Mask mask = Mask::load_smtx(file.string());
    if (mask.nnz() > largest.nnz()) largest = mask;
  }
  Runtime runtime(with_threads(1));
  LayerCase layer_case = {.mask = largest, .batch = 128};
  const Layer layer = forced_layer(largest, Engine::native, runtime);
  run_layer(layer, layer_case);
  expect_ran_on(layer, Engine::native);
  for (const KernelReport& report : layer.report()) {
    EXPECT_GT(report.code_bytes, 4 * largest.nnz());  // a word of a table at least
    EXPECT_GT(report.compile_seconds, 0);
  }
}

}  // namespace
}  // namespace sparsejit::test
