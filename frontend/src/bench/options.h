// BenchOptions: what the user asked `sparsejit bench` for, checked; and the words for it.
//
//     BenchTexts (as typed)  --parse_bench_options-->  BenchOptions
//
// Parsing does all checks of values before any tensor is allocated: each problem throws Error with
// one sentence naming the option, the text seen and what was expected. Plain data, no output.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/conv_options.h"
#include "bench/suite.h"
#include "bench/workload.h"

namespace sparsejit::frontend {

// The library's own, then the baselines; of these the last two run linear layers only.
enum class BenchEngine { native, interpreted, portable, paper_loop, dense, onednn, mkl_sparse };
inline constexpr std::array kAllEngines = {
    BenchEngine::native, BenchEngine::interpreted, BenchEngine::portable,  BenchEngine::paper_loop,
    BenchEngine::dense,  BenchEngine::onednn,      BenchEngine::mkl_sparse};
inline bool is_library(BenchEngine engine) { return engine <= BenchEngine::portable; }
bool is_library(std::string_view engine);  // by its name; false for unknown ones

enum class CacheState { hot, cold };
enum class TimedPass { forward, backward, total };

const char* to_text(BenchEngine engine);
const char* to_text(CacheState state);
const char* to_text(TimedPass pass);

// Where results go to and come from; paths, "-" being standard output.
struct ReportTexts {
  std::optional<std::string> json;
  std::optional<std::string> csv;
  std::optional<std::string> svg;
  std::optional<std::string> results;  // a report to read instead of measuring
  std::optional<std::string> compare;  // an earlier report
  std::optional<std::string> threshold;
};

struct BenchTexts {
  std::vector<std::string> shapes;
  ConvTexts conv;
  std::optional<std::string> mask;  // path of an .smtx file
  std::optional<std::string> smtx_conv;
  std::optional<std::string> suite;  // of --shape, --conv, --mask and this none: the default suite
  std::optional<std::string> masks;  // path of a folder of .smtx files
  std::optional<std::string> batches;
  std::optional<std::string> sparsities;
  std::string threads = "1";
  std::string layout = "feature-major";
  std::string pitch = "recommended";
  std::optional<std::string> engines;
  std::optional<std::string> states;  // hot,cold; of networks hot
  std::string passes = "forward,backward,total";
  std::string repetitions = "9";
  std::string min_time = "0.1";
  std::string seed = "1";
  bool bias = false;
  bool no_dx = false;
  std::string dense = "fastest";
  ReportTexts report;
};

struct BenchOptions {
  std::vector<Workload> workloads;
  std::optional<Suite> network;  // whose layers the workloads are
  std::vector<int> threads;
  std::vector<BenchEngine> engines;
  bool engines_given = false;  // false: those that do not suit a workload are left out of it
  std::vector<CacheState> states;
  std::vector<TimedPass> passes;
  int repetitions = 0;     // samples of one engine and pass, at least
  double min_seconds = 0;  // time in the hot samples of one engine, at least
  ReportTexts report;
  double threshold = 0;  // of --compare, 0.1 for 10%
};

// With --results there are no workloads.
BenchOptions parse_bench_options(const BenchTexts& texts);

}  // namespace sparsejit::frontend
