// Texts to BenchOptions; see options.h.
#include "bench/options.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "arguments.h"
#include "bench/option_values.h"
#include "bench/speed_up_plot.h"
#include "bench/workload_options.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxRepetitions = 100000;
constexpr double kMaxMinSeconds = 3600;

template <typename Enum>
std::vector<const char*> list_texts(Enum last) {
  std::vector<const char*> texts;
  for (int i = 0; i <= static_cast<int>(last); ++i) texts.push_back(to_text(static_cast<Enum>(i)));
  return texts;
}

template <typename Enum>
std::vector<Enum> parse_enums(const std::string& text, std::string_view option, Enum last) {
  std::vector<Enum> enums;
  for (const int i : parse_words(text, option, list_texts(last))) {
    enums.push_back(static_cast<Enum>(i));
  }
  return enums;
}

std::optional<Suite> parse_suite(const BenchTexts& texts) {
  if (!texts.suite) return std::nullopt;
  return static_cast<Suite>(parse_word(*texts.suite, "--suite", list_texts(Suite::dlmc)));
}

// Of networks without the slow one.
std::vector<BenchEngine> default_engines(bool network) {
  std::vector<BenchEngine> engines(kAllEngines.begin(), kAllEngines.end());
  if (network) std::erase(engines, BenchEngine::portable);
  return engines;
}

double parse_min_time(const std::string& text) {
  const std::vector<double> numbers = parse_number_list(text, "--min-time");
  if (numbers.size() != 1 || !(numbers.front() >= 0 && numbers.front() <= kMaxMinSeconds)) {
    throw_error("--min-time: \"{}\" is out of range, expected seconds from 0 to {}", text,
                kMaxMinSeconds);
  }
  return numbers.front();
}

double parse_threshold(const ReportTexts& texts) {
  constexpr double kDefault = 0.1;
  if (!texts.threshold) return kDefault;
  if (!texts.compare) refuse(typed(texts.threshold), "--threshold", "--compare with it");
  const double threshold = parse_number(*texts.threshold, "--threshold");
  if (threshold > 0 && threshold < 100) return threshold;
  throw_error("--threshold: {} is out of range, expected more than 0, such as 0.1 for 10%",
              threshold);
}

// One at most takes standard output.
void validate_outputs(const ReportTexts& texts) {
  int to_stdout = 0;
  for (const auto* path : {&texts.json, &texts.csv, &texts.svg}) to_stdout += *path == "-" ? 1 : 0;
  if (to_stdout > 1) {
    throw_error("--json, --csv, --svg: {} of them are -, expected one for standard output",
                to_stdout);
  }
}

// With --results nothing is measured, so nothing may ask for a measurement.
void validate_results_alone(const BenchTexts& texts) {
  constexpr const char* kExpectation = "none with --results, which measures nothing";
  refuse(typed(texts.shapes), "--shape", kExpectation);
  refuse(typed(texts.conv.convs), "--conv", kExpectation);
  refuse(typed(texts.mask), "--mask", kExpectation);
  refuse(typed(texts.suite), "--suite", kExpectation);
  refuse(typed(texts.masks), "--masks", kExpectation);
  refuse(typed(texts.batches), "--batch", kExpectation);
  refuse(typed(texts.sparsities), "--sparsity", kExpectation);
  refuse(typed(texts.engines), "--engines", kExpectation);
  const ReportTexts& report = texts.report;
  if (!report.json && !report.csv && !report.svg && !report.compare) {
    throw_error("--results: \"{}\" alone, expected --compare, --csv, --svg or --json with it",
                *report.results);
  }
}

// Before minutes of measuring rather than after.
void validate_plot(const BenchOptions& options) {
  std::set<double> sparsities;
  for (const Workload& workload : options.workloads) {
    if (workload.sparsity < 1) sparsities.insert(workload.sparsity);  // as list_speed_ups does
  }
  const auto is_dense = [](BenchEngine engine) {
    return engine == BenchEngine::dense || engine == BenchEngine::onednn;
  };
  const auto dense = std::count_if(options.engines.begin(), options.engines.end(), is_dense);
  const bool others = options.engines.size() > static_cast<size_t>(dense);
  validate_plottable(sparsities, dense > 0 && others, "--svg");
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
    case BenchEngine::onednn:
      return "onednn";
    case BenchEngine::mkl_sparse:
      return "mkl_sparse";
  }
  return "?";
}

bool is_library(std::string_view engine) {
  return std::any_of(kAllEngines.begin(), kAllEngines.end(), [&](BenchEngine known) {
    return is_library(known) && engine == to_text(known);
  });
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
  options.report = texts.report;
  options.threshold = parse_threshold(texts.report);
  validate_outputs(texts.report);
  if (texts.report.results) {
    validate_results_alone(texts);
    return options;
  }
  options.workloads = parse_workloads(texts, suite);
  if (suite && is_network(*suite)) options.network = suite;
  for (const int64_t threads : parse_whole_numbers(texts.threads, "--threads", 1, kMaxThreads)) {
    options.threads.push_back(static_cast<int>(threads));
  }
  options.engines_given = texts.engines.has_value();
  options.engines = texts.engines
                        ? parse_enums(*texts.engines, "--engines", BenchEngine::mkl_sparse)
                        : default_engines(options.network.has_value());
  options.states = parse_enums(texts.states.value_or(options.network ? "hot" : "hot,cold"),
                               "--states", CacheState::cold);
  options.passes = parse_enums(texts.passes, "--passes", TimedPass::total);
  options.repetitions =
      static_cast<int>(parse_whole_number(texts.repetitions, "--repetitions", 1, kMaxRepetitions));
  options.min_seconds = parse_min_time(texts.min_time);
  if (texts.report.svg) validate_plot(options);

  const bool dense = std::find(options.engines.begin(), options.engines.end(),
                               BenchEngine::dense) != options.engines.end();
  for (const Workload& workload : options.workloads) validate_memory(workload, dense);
  return options;
}

}  // namespace sparsejit::frontend
