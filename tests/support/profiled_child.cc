// See profiled_child.h.
#include "support/profiled_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "support/child.h"
#include "support/layer_case.h"

namespace sparsejit::test {

const Mask& small_mask() {
  static const Mask mask = Mask::random({20, 30}, 0.5, 1);
  return mask;
}

Layer compiled_layer(const Mask& mask, Runtime& runtime) {
  LayerOptions options;
  options.engine = Engine::native;
  options.batch = 16;
  options.runtime = &runtime;
  return compile_layer(mask, options);
}

void run_once(const Layer& layer) {
  LayerCase layer_case = {.mask = layer.mask(), .batch = 16};
  layer_case.arrange(Arrangement::feature_major_padded);
  expect_matches_reference(layer_case, run_layer(layer, layer_case));
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string perf_map_path() { return "/tmp/perf-" + std::to_string(getpid()) + ".map"; }

std::string jitdump_path() {
  return std::string(std::getenv("JITDUMPDIR")) + "/jit-" + std::to_string(getpid()) + ".dump";
}

void expect_no_overlap(const std::vector<Symbol>& symbols) {
  std::map<uint64_t, uint64_t> ranges;
  for (const Symbol& symbol : symbols) {
    EXPECT_GT(symbol.size, 0U) << symbol.name;
    EXPECT_TRUE(ranges.emplace(symbol.begin, symbol.size).second) << symbol.name;
  }
  uint64_t end = 0;
  for (const auto& [begin, size] : ranges) {
    EXPECT_GE(begin, end);
    end = begin + size;
  }
}

void expect_names(const std::vector<Symbol>& symbols, const Mask& mask) {
  const std::regex pattern(
      "sparsejit_([0-9x]+)_(forward_accumulate|backward_(accumulate|fused|products))"
      "_chunk([0-9]+)_([0-9a-f]{16})");
  std::set<std::string> first_chunks;
  for (const Symbol& symbol : symbols) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(symbol.name, match, pattern)) << symbol.name;
    if (match[5] != short_name(mask.hash())) continue;
    EXPECT_EQ(match[1], to_text(mask.shape()));
    if (match[4] == "0") first_chunks.insert(match[2]);
  }
  EXPECT_TRUE(first_chunks.contains("forward_accumulate"));
  EXPECT_GE(first_chunks.size(), 2U) << "a backward pass too";
}

void expect_in_profiled_child(const char* words, const std::function<void()>& body) {
  expect_in_child([&] {
    std::string directory = ::testing::TempDir() + "profilingXXXXXX";
    EXPECT_NE(mkdtemp(directory.data()), nullptr);
    setenv("SPARSEJIT_PROFILE", words, 1);
    setenv("JITDUMPDIR", directory.c_str(), 1);
    body();
    std::filesystem::remove_all(directory);
    std::filesystem::remove(perf_map_path());
    return true;
  });
}

}  // namespace sparsejit::test
