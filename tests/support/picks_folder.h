// A folder of its own for each test of remembered picks, and runtimes that keep them there.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/runtimes.h"

namespace sparsejit::test {

inline constexpr const char* kPicksFirstLine = "sparsejit picks 1\n";

class PicksFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("sparsejit_{}_{}", info->name(), ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "picks").string(); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string content() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  }

  RuntimeOptions options() {
    RuntimeOptions result = with_threads(1);
    result.picks_file = path();
    result.log = [this](const std::string& line) { log_.push_back(line); };
    return result;
  }

  std::filesystem::path folder_;
  std::vector<std::string> log_;
};

}  // namespace sparsejit::test
