// The entry functions of fuzzing: bytes become a case, the case is run, what must hold is checked.
//
// A check that fails throws FuzzFailure or is a failure of GoogleTest; so the same functions run
// under libFuzzer, where either ends the process (fuzz_target.cc), and over the files of corpus/ in
// the ordinary tests (corpus.h). Any bytes are a legal input.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

namespace sparsejit::test {

class FuzzFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Every reader of masks; the first byte chooses the format.
void fuzz_masks(std::span<const uint8_t> bytes);

// A layer on every engine, both passes, before and after a change of its mask.
void fuzz_kernels(std::span<const uint8_t> bytes);

}  // namespace sparsejit::test
