// Reading, rewriting and comparing golden files.
#include "support/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace sparsejit::test {
namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Table of longest common subsequences: length[i][j] is that of expected[i..] and actual[j..].
std::vector<std::vector<int>> common_lengths(const std::vector<std::string>& expected,
                                             const std::vector<std::string>& actual) {
  std::vector<std::vector<int>> length(expected.size() + 1, std::vector<int>(actual.size() + 1, 0));
  for (size_t i = expected.size(); i-- > 0;) {
    for (size_t j = actual.size(); j-- > 0;) {
      length[i][j] = expected[i] == actual[j] ? length[i + 1][j + 1] + 1
                                              : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  return length;
}

// "-" lines are in the file only, "+" lines are in what the test printed only.
std::string diff(const std::string& expected_text, const std::string& actual_text) {
  const std::vector<std::string> expected = split_lines(expected_text);
  const std::vector<std::string> actual = split_lines(actual_text);
  const auto length = common_lengths(expected, actual);
  std::string result;
  size_t i = 0;
  size_t j = 0;
  while (i < expected.size() || j < actual.size()) {
    if (i < expected.size() && j < actual.size() && expected[i] == actual[j]) {
      result += "  " + expected[i++] + "\n";
      ++j;
    } else if (j == actual.size() ||
               (i < expected.size() && length[i + 1][j] >= length[i][j + 1])) {
      result += "- " + expected[i++] + "\n";
    } else {
      result += "+ " + actual[j++] + "\n";
    }
  }
  return result;
}

bool update_wanted() {
  const char* value = std::getenv("SPARSEJIT_UPDATE_GOLDEN");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace

void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(SPARSEJIT_GOLDEN_DIR) + "/" + name;
  if (update_wanted()) {
    std::ofstream file(path, std::ios::binary);
    file << actual;
    ASSERT_TRUE(file.flush().good()) << "cannot write " << path;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << "no golden file " << path
                           << "; SPARSEJIT_UPDATE_GOLDEN=1 writes it:\n"
                           << actual;
  std::ostringstream expected;
  expected << file.rdbuf();
  if (expected.str() == actual) return;
  ADD_FAILURE() << name
                << " differs (- the file, + this run; SPARSEJIT_UPDATE_GOLDEN=1 rewrites):\n"
                << diff(expected.str(), actual);
}

}  // namespace sparsejit::test
