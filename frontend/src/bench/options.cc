// Texts to BenchOptions; see options.h.
#include "bench/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "arguments.h"
#include "bench/option_values.h"
#include "bench/workload_options.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxRepetitions = 100000;
constexpr const char* kAllEngines = "native,interpreted,portable,paper_loop,dense";
constexpr const char* kNetworkEngines = "native,interpreted,paper_loop,dense";
constexpr double kMaxMinSeconds = 3600;

template <typename Enum>
std::vector<Enum> parse_enums(const std::string& text, std::string_view option, Enum last) {
  std::vector<const char*> known;
  for (int i = 0; i <= static_cast<int>(last); ++i) known.push_back(to_text(static_cast<Enum>(i)));
  std::vector<Enum> enums;
  for (const int i : parse_words(text, option, known)) enums.push_back(static_cast<Enum>(i));
  return enums;
}

std::optional<Suite> parse_suite(const BenchTexts& texts) {
  if (!texts.suite) return std::nullopt;
  constexpr std::array<const char*, 4> kSuites = {"resnet18", "resnet50", "bert", "paper"};
  return static_cast<Suite>(parse_word(*texts.suite, "--suite", kSuites));
}

double parse_min_time(const std::string& text) {
  const std::vector<double> numbers = parse_number_list(text, "--min-time");
  if (numbers.size() != 1 || !(numbers.front() >= 0 && numbers.front() <= kMaxMinSeconds)) {
    throw_error("--min-time: \"{}\" is out of range, expected seconds from 0 to {}", text,
                kMaxMinSeconds);
  }
  return numbers.front();
}

}  // namespace

const char* to_text(BenchEngine engine) {
  switch (engine) {
    case BenchEngine::native:
      return "native";
    case BenchEngine::interpreted:
      return "interpreted";
    case BenchEngine::portable:
      return "portable";
    case BenchEngine::paper_loop:
      return "paper_loop";
    case BenchEngine::dense:
      return "dense";
  }
  return "?";
}

const char* to_text(CacheState state) { return state == CacheState::hot ? "hot" : "cold"; }

const char* to_text(TimedPass pass) {
  switch (pass) {
    case TimedPass::forward:
      return "forward";
    case TimedPass::backward:
      return "backward";
    case TimedPass::total:
      return "total";
  }
  return "?";
}

BenchOptions parse_bench_options(const BenchTexts& texts) {
  const std::optional<Suite> suite = parse_suite(texts);
  BenchOptions options;
  options.workloads = parse_workloads(texts, suite);
  if (suite && is_network(*suite)) options.network = suite;
  for (const int64_t threads : parse_whole_numbers(texts.threads, "--threads", 1, kMaxThreads)) {
    options.threads.push_back(static_cast<int>(threads));
  }
  options.engines_given = texts.engines.has_value();
  options.engines =
      parse_enums(texts.engines.value_or(options.network ? kNetworkEngines : kAllEngines),
                  "--engines", BenchEngine::dense);
  options.states = parse_enums(texts.states.value_or(options.network ? "hot" : "hot,cold"),
                               "--states", CacheState::cold);
  options.passes = parse_enums(texts.passes, "--passes", TimedPass::total);
  options.repetitions =
      static_cast<int>(parse_whole_number(texts.repetitions, "--repetitions", 1, kMaxRepetitions));
  options.min_seconds = parse_min_time(texts.min_time);
  options.json = texts.json;

  const bool dense = std::find(options.engines.begin(), options.engines.end(),
                               BenchEngine::dense) != options.engines.end();
  for (const Workload& workload : options.workloads) validate_memory(workload, dense);
  return options;
}

}  // namespace sparsejit::frontend
