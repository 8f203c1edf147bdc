// OpenBLAS as the sgemm of the library's dense engine: what `bench` passes to its runtimes.
#include <gtest/gtest.h>

#include "dense_blas.h"
#include "support/layer_case.h"
#include "support/runtimes.h"

namespace sparsejit::frontend {
namespace {

using namespace sparsejit::test;

TEST(DenseSgemm, RunsTheDenseEngineInEveryLayout) {
  if (!detect_machine().avx2_fma) GTEST_SKIP() << "the portable engine would run";
  RuntimeOptions options = with_threads(2);
  options.sgemm = dense_sgemm;
  Runtime runtime(options);
  for (const Arrangement inputs : all_arrangements()) {
    for (const Arrangement outputs : writable_arrangements()) {
      LayerCase c = {.mask = Mask::random({37, 51}, 0.4, 1), .batch = 29};
      c.x = c.dy = inputs;
      c.y = c.dx = outputs;
      SCOPED_TRACE(to_text(c));
      const Layer layer = forced_layer(c.mask, Engine::dense, runtime);
      expect_matches_reference(c, run_layer(layer, c));
      expect_ran_on(layer, Engine::dense);
    }
  }
}

}  // namespace
}  // namespace sparsejit::frontend
