// The corpus in the ordinary tests: each file of corpus/<target>/ through its entry function, so
// that what fuzzing found stays found without a fuzzer. A new file is a new test input; nothing
// else has to be written.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace sparsejit::test {

inline void run_corpus(const std::string& target, void (*entry)(std::span<const uint8_t>)) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(SPARSEJIT_CORPUS_DIR "/" + target)) {
    paths.push_back(file.path());
  }
  ASSERT_FALSE(paths.empty());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    EXPECT_NO_THROW(entry({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
  }
}

}  // namespace sparsejit::test
