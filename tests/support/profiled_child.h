// Children that run with SPARSEJIT_PROFILE set, and what all tests of profilers ask of symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sparsejit/layer.h"

namespace sparsejit::test {

struct Symbol {
  uint64_t begin = 0;
  uint64_t size = 0;
  std::string name;
};

// 20x30, small enough for one chunk a kernel.
const Mask& small_mask();
// Both passes, for batch 16.
Layer compiled_layer(const Mask& mask, Runtime& runtime);
void run_once(const Layer& layer);

void expect_no_overlap(const std::vector<Symbol>& symbols);
// All names have the documented form; those of `mask` are there for both passes, from chunk 0 on.
void expect_names(const std::vector<Symbol>& symbols, const Mask& mask);

// `body` in a child with SPARSEJIT_PROFILE set and a directory of its own, both gone afterwards.
void expect_in_profiled_child(const char* words, const std::function<void()>& body);

// Of the calling process.
std::string perf_map_path();
std::string jitdump_path();
std::string read_all(const std::string& path);

}  // namespace sparsejit::test
