// The corpus of fuzz_masks, and the entry function itself on inputs that are cut short.
#include <gtest/gtest.h>

#include "fuzz/corpus.h"
#include "fuzz/fuzz_entries.h"

namespace sparsejit::test {
namespace {

TEST(FuzzMasks, CorpusRunsClean) { run_corpus("masks", fuzz_masks); }

TEST(FuzzMasks, AnyBytesAreAnInput) {
  EXPECT_NO_THROW(fuzz_masks({}));
  for (uint8_t format = 0; format < 4; ++format) {
    const std::vector<uint8_t> bytes = {format, 0xFF, 0x93};
    EXPECT_NO_THROW(fuzz_masks(bytes));
  }
}

}  // namespace
}  // namespace sparsejit::test
