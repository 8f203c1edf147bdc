// Texts to BenchOptions; see options.h.
#include "bench/options.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "arguments.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kMaxBatch = INT32_MAX;
constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxRepetitions = 100000;
constexpr int64_t kMaxSeed = int64_t{1} << 53;  // whole numbers a double holds exactly
constexpr const char* kAllEngines = "native,interpreted,portable,paper_loop,dense";
constexpr double kMaxMinSeconds = 3600;

std::vector<int64_t> parse_whole_numbers(const std::string& text, std::string_view option,
                                         int64_t smallest, int64_t largest) {
  std::vector<int64_t> numbers;
  for (const double number : parse_number_list(text, option)) {
    if (!(number >= static_cast<double>(smallest) && number <= static_cast<double>(largest)) ||
        number != std::floor(number)) {
      throw_error("{}: {} is out of range, expected a whole number from {} to {}", option, number,
                  smallest, largest);
    }
    numbers.push_back(static_cast<int64_t>(number));
  }
  return numbers;
}

int64_t parse_whole_number(const std::string& text, std::string_view option, int64_t smallest,
                           int64_t largest) {
  const std::vector<int64_t> numbers = parse_whole_numbers(text, option, smallest, largest);
  if (numbers.size() != 1) throw_error("{}: \"{}\" is a list, expected one number", option, text);
  return numbers.front();
}

std::string join(std::span<const char* const> words) {
  std::string joined;
  for (const char* word : words) joined += (joined.empty() ? "" : ", ") + std::string(word);
  return joined;
}

// "a,b" -> positions of the words in `known`, each once, in the order of `known`.
std::vector<int> parse_words(std::string_view text, std::string_view option,
                             std::span<const char* const> known) {
  std::vector<bool> seen(known.size());
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, comma - begin);
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
      throw_error("{}: \"{}\" is unknown, expected one or more of {}", option, word, join(known));
    }
    seen[static_cast<size_t>(found - known.begin())] = true;
    begin = comma + 1;
  }
  std::vector<int> positions;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

template <typename Enum>
std::vector<Enum> parse_enums(const std::string& text, std::string_view option, Enum last) {
  std::vector<const char*> known;
  for (int i = 0; i <= static_cast<int>(last); ++i) known.push_back(to_text(static_cast<Enum>(i)));
  std::vector<Enum> enums;
  for (const int i : parse_words(text, option, known)) enums.push_back(static_cast<Enum>(i));
  return enums;
}

// One word out of two: false for the first, true for the second.
bool parse_choice(const std::string& text, std::string_view option, const char* first,
                  const char* second) {
  if (text != first && text != second) {
    throw_error("{}: \"{}\" is unknown, expected {} or {}", option, text, first, second);
  }
  return text == second;
}

std::vector<WorkloadGrid> parse_grids(const BenchTexts& texts) {
  std::vector<WorkloadGrid> grids = default_suite();
  if (!texts.shapes.empty()) {
    WorkloadGrid grid{{}, {128}, {0.8, 0.9, 0.95, 0.98, 0.99}};
    for (const std::string& text : texts.shapes) {
      const auto [in, out] = parse_shape(text, "--shape");
      grid.shapes.push_back({in, out});
    }
    grids = {grid};
  }
  for (WorkloadGrid& grid : grids) {
    if (texts.batches) {
      grid.batches = parse_whole_numbers(*texts.batches, "--batch", 1, kMaxBatch);
    }
    if (texts.sparsities) {
      grid.sparsities = parse_number_list(*texts.sparsities, "--sparsity");
      for (const double sparsity : grid.sparsities) validate_sparsity(sparsity, "--sparsity");
    }
  }
  return grids;
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
  Workload common;
  common.layout = parse_choice(texts.layout, "--layout", "feature-major", "row-major")
                      ? Layout::row_major
                      : Layout::feature_major;
  common.tight_pitch = parse_choice(texts.pitch, "--pitch", "recommended", "tight");
  common.bias = texts.bias;
  common.want_dx = !texts.no_dx;
  common.seed = static_cast<uint64_t>(parse_whole_number(texts.seed, "--seed", 0, kMaxSeed));

  BenchOptions options;
  options.workloads = list_workloads(parse_grids(texts), common);
  for (const int64_t threads : parse_whole_numbers(texts.threads, "--threads", 1, kMaxThreads)) {
    options.threads.push_back(static_cast<int>(threads));
  }
  options.engines_given = texts.engines.has_value();
  options.engines =
      parse_enums(texts.engines.value_or(kAllEngines), "--engines", BenchEngine::dense);
  options.states = parse_enums(texts.states, "--states", CacheState::cold);
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
