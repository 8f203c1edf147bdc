// The corpus of fuzz_kernels, and the entry function itself on inputs that are cut short.
#include <gtest/gtest.h>

#include "fuzz/corpus.h"
#include "fuzz/fuzz_entries.h"

namespace sparsejit::test {
namespace {

TEST(FuzzKernels, CorpusRunsClean) { run_corpus("kernels", fuzz_kernels); }

TEST(FuzzKernels, AnyBytesAreAnInput) {
  EXPECT_NO_THROW(fuzz_kernels({}));
  for (uint8_t byte = 0; byte < 0x20; ++byte) {
    const std::vector<uint8_t> bytes(size_t{40}, byte);
    EXPECT_NO_THROW(fuzz_kernels(bytes));
    EXPECT_NO_THROW(fuzz_kernels(std::span(bytes).first(byte)));
  }
}

}  // namespace
}  // namespace sparsejit::test
