// SPARSEJIT_PROFILE, and the perf map read back. Each case runs in a child process, which has files
// of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "profiling/code_listing.h"
#include "support/child.h"
#include "support/profiled_child.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class Profiling : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  }
};

std::vector<Symbol> read_perf_map() {
  static const std::regex kLine("([0-9a-f]+) ([0-9a-f]+) ([^ ]+)");
  std::vector<Symbol> symbols;
  std::istringstream lines(read_all(perf_map_path()));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    EXPECT_TRUE(std::regex_match(line, match, kLine)) << line;
    symbols.push_back(
        {std::stoull(match[1], nullptr, 16), std::stoull(match[2], nullptr, 16), match[3]});
  }
  return symbols;
}

TEST_F(Profiling, PerfMapNamesEveryChunkOnce) {
  expect_in_profiled_child("perfmap", [] {
    Runtime runtime(with_threads(1));
    const Layer layer = compiled_layer(small_mask(), runtime);
    run_once(layer);
    EXPECT_EQ(runtime.stats().arenas, 0) << "perf looks names up for anonymous memory only";
    const std::vector<Symbol> symbols = read_perf_map();
    expect_names(symbols, small_mask());
    expect_no_overlap(symbols);
    uint64_t bytes = 0;
    for (const Symbol& symbol : symbols) bytes += symbol.size;
    int64_t code_bytes = 0;
    for (const KernelReport& report : layer.report()) code_bytes += report.code_bytes;
    // Padding has no name, nor have tables.
    EXPECT_LE(static_cast<int64_t>(bytes), code_bytes);
    EXPECT_GT(static_cast<int64_t>(bytes), code_bytes / 4);
  });
}

TEST_F(Profiling, PerfMapLinesDoNotOverlapWhenAddressesAreReused) {
  expect_in_profiled_child("perfmap", [] {
    Runtime runtime(with_code_budget(48 << 10));
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const Mask mask = Mask::random({20 + static_cast<int64_t>(seed % 7), 30}, 0.5, seed);
      const Layer layer = compiled_layer(mask, runtime);
      const std::vector<Symbol> symbols = read_perf_map();
      expect_no_overlap(symbols);
      expect_names(symbols, mask);
    }
    EXPECT_GT(runtime.stats().evictions, 0);
  });
}

TEST_F(Profiling, PerfMapOfAForkedChildHasTheInheritedKernelsToo) {
  expect_in_profiled_child("perfmap", [] {
    Runtime runtime(with_threads(1));
    const Layer layer = compiled_layer(small_mask(), runtime);
    const std::string parents = read_all(perf_map_path());
    expect_in_child([&] {
      const Mask other = Mask::random({20, 30}, 0.5, 2);
      const Layer own = compiled_layer(other, runtime);
      const std::vector<Symbol> symbols = read_perf_map();
      expect_names(symbols, small_mask());
      expect_names(symbols, other);
      expect_no_overlap(symbols);
      std::filesystem::remove(perf_map_path());
      return true;
    });
    EXPECT_EQ(read_all(perf_map_path()), parents);
  });
}

TEST_F(Profiling, WithoutTheVariableNothingIsWritten) {
  expect_in_profiled_child("", [] {
    unsetenv("SPARSEJIT_PROFILE");
    Runtime runtime(with_threads(1));
    run_once(compiled_layer(small_mask(), runtime));
    EXPECT_FALSE(std::filesystem::exists(perf_map_path()));
    EXPECT_FALSE(std::filesystem::exists(jitdump_path()));
  });
}

TEST_F(Profiling, UnknownWordsAndFilesThatCannotBeWrittenAreReportedOnce) {
  expect_in_profiled_child("perf,jitdump,,gdb", [] {
    setenv("JITDUMPDIR", "/nowhere/at/all", 1);
    std::vector<std::string> lines;
    RuntimeOptions options = with_threads(1);
    options.log = [&](const std::string& line) { lines.push_back(line); };
    Runtime runtime(options);
    run_once(compiled_layer(small_mask(), runtime));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find("'perf'"), std::string::npos) << lines[0];
    EXPECT_NE(lines[1].find("/nowhere/at/all/jit-"), std::string::npos) << lines[1];
  });
}

TEST(ProfilersTest, ListsAreParsed) {
  std::vector<std::string> lines;
  const auto report = [&](const std::string& line) { lines.push_back(line); };
  EXPECT_FALSE(parse_profilers("", report).any());
  const Profilers all = parse_profilers("gdb,jitdump,perfmap", report);
  EXPECT_TRUE(all.gdb && all.jitdump && all.perf_map);
  const Profilers one = parse_profilers("perfmap,", report);
  EXPECT_TRUE(one.perf_map && !one.jitdump && !one.gdb);
  EXPECT_TRUE(lines.empty());
  EXPECT_FALSE(parse_profilers("Gdb, gdb", report).any());
  EXPECT_EQ(lines.size(), 2U);
}

// Functions of an object, at the addresses a debugger gives them.

}  // namespace
}  // namespace sparsejit::test
