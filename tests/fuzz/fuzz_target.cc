// libFuzzer's entry point, compiled once for each function named by SPARSEJIT_FUZZ_ENTRY.
#include <gtest/gtest.h>

#include "fuzz/fuzz_entries.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  GTEST_FLAG_SET(throw_on_failure, true);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sparsejit::test::SPARSEJIT_FUZZ_ENTRY({data, size});
  return 0;
}
