// BenchOptions: what the user asked `sparsejit bench` for, checked; and the words for it.
//
//     BenchTexts (as typed)  --parse_bench_options-->  BenchOptions
//
// Parsing does all checks of values before any tensor is allocated: each problem throws Error with
// one sentence naming the option, the text seen and what was expected. Plain data, no output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv_options.h"
#include "bench/suite.h"
#include "bench/workload.h"

namespace sparsejit::frontend {

enum class BenchEngine { native, interpreted, portable, paper_loop, dense };
enum class CacheState { hot, cold };
enum class TimedPass { forward, backward, total };

const char* to_text(BenchEngine engine);
const char* to_text(CacheState state);
const char* to_text(TimedPass pass);

struct BenchTexts {
  std::vector<std::string> shapes;
  ConvTexts conv;
  std::optional<std::string> mask;  // path of an .smtx file
  std::optional<std::string> smtx_conv;
  std::optional<std::string> suite;  // of these four none: the default suite
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
  std::optional<std::string> json;
};

struct BenchOptions {
  std::vector<Workload> workloads;
  std::optional<Suite> network;  // whose layers the workloads are
  std::vector<int> threads;
  std::vector<BenchEngine> engines;
  bool engines_given = false;  // false: slow engines may be left out of large workloads
  std::vector<CacheState> states;
  std::vector<TimedPass> passes;
  int repetitions = 0;              // samples of one engine and pass, at least
  double min_seconds = 0;           // time in the hot samples of one engine, at least
  std::optional<std::string> json;  // a path, or "-" for standard output
};

BenchOptions parse_bench_options(const BenchTexts& texts);

}  // namespace sparsejit::frontend
