// Golden text: what a step prints, compared with a file in tests/golden/.
//
// Run the tests with SPARSEJIT_UPDATE_GOLDEN=1 to rewrite the files, then read the difference in
// version control. A mismatch prints the lines that differ.
#pragma once

#include <string>

namespace sparsejit::test {

// `name` is the file's name without folder, as in "taps_linear.txt".
void expect_golden(const std::string& name, const std::string& actual);

}  // namespace sparsejit::test
