// A dense product for tests: three loops over what RuntimeOptions::sgemm promises, which is
// checked.
#pragma once

#include <gtest/gtest.h>

#include "sparsejit/runtime.h"
#include "support/runtimes.h"

namespace sparsejit::test {

inline void plain_sgemm(const Sgemm& g) {
  EXPECT_GT(g.m, 0);
  EXPECT_GT(g.n, 0);
  EXPECT_GT(g.k, 0);
  EXPECT_GE(g.lda, g.transpose_a ? g.m : g.k);
  EXPECT_GE(g.ldb, g.transpose_b ? g.k : g.n);
  EXPECT_GE(g.ldc, g.n);
  EXPECT_GE(g.threads, 1);
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < g.k; ++l) {
        sum += g.a[g.transpose_a ? l * g.lda + i : i * g.lda + l] *
               g.b[g.transpose_b ? j * g.ldb + l : l * g.ldb + j];
      }
      g.c[i * g.ldc + j] = sum;
    }
  }
}

inline RuntimeOptions with_sgemm(int threads = 1) {
  RuntimeOptions options = with_threads(threads);
  options.sgemm = plain_sgemm;
  return options;
}

}  // namespace sparsejit::test
