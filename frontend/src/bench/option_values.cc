// Splitting and checking; see option_values.h.
#include "bench/option_values.h"

#include <algorithm>
#include <cmath>

#include "arguments.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

std::string join(std::span<const char* const> words) {
  std::string joined;
  for (const char* word : words) joined += (joined.empty() ? "" : ", ") + std::string(word);
  return joined;
}

std::vector<double> sweep(double lowest, double highest) {
  std::vector<double> points = {lowest};
  for (const double round : {0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995}) {
    if (round > lowest && round < highest) points.push_back(round);
  }
  points.push_back(highest);
  return points;
}

}  // namespace

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

int parse_word(std::string_view text, std::string_view option, std::span<const char* const> known) {
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end()) {
    throw_error("{}: \"{}\" is unknown, expected one of {}", option, text, join(known));
  }
  return static_cast<int>(found - known.begin());
}

std::vector<double> parse_sparsities(const std::string& text, std::string_view option) {
  if (text == "sweep") return sweep(0.5, 0.995);
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    std::vector<double> listed = parse_number_list(text, option);
    for (const double sparsity : listed) validate_sparsity(sparsity, option);
    return listed;
  }
  const double lowest =
      validate_sparsity(parse_number(std::string_view(text).substr(0, colon), option), option);
  const double highest =
      validate_sparsity(parse_number(std::string_view(text).substr(colon + 1), option), option);
  if (lowest >= highest) {
    throw_error("{}: \"{}\" is no range, expected the lower sparsity first, such as 0.5:0.995",
                option, text);
  }
  return sweep(lowest, highest);
}

const std::string* typed(const std::optional<std::string>& text) { return text ? &*text : nullptr; }

const std::string* typed(const std::vector<std::string>& texts) {
  return texts.empty() ? nullptr : &texts.front();
}

void refuse(const std::string* text, const char* option, const char* expectation) {
  if (text != nullptr) throw_error("{}: {}, expected {}", option, *text, expectation);
}

}  // namespace sparsejit::frontend
