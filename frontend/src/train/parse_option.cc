// Texts to values; see parse_option.h. A value must fill the whole text: "12 " and "0x10" are
// refused, not half read.
#include "train/parse_option.h"

#include <charconv>
#include <limits>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

template <typename T>
bool parse_whole_text(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

template <typename T>
T parse_name(std::string_view option, std::string_view text, std::initializer_list<T> choices) {
  std::vector<const char*> names;
  for (const T choice : choices) {
    if (text == to_text(choice)) return choice;
    names.push_back(to_text(choice));
  }
  throw_error("{}: \"{}\" is not one of {}", option, text, fmt::join(names, ", "));
}

}  // namespace

int64_t parse_count(std::string_view option, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  if (!parse_whole_text(text, value) || value < least || value > most) {
    throw_error("{}: \"{}\" is not a whole number from {} to {}", option, text, least, most);
  }
  return value;
}

std::vector<int64_t> parse_counts(std::string_view option, std::string_view text, int64_t least,
                                  int64_t most) {
  std::vector<int64_t> counts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int64_t value = 0;
    if (!parse_whole_text(text.substr(begin, end - begin), value) || value < least ||
        value > most) {
      throw_error(
          "{}: \"{}\" in \"{}\" is not a whole number from {} to {}; "
          "expected a list such as 256,128",
          option, text.substr(begin, end - begin), text, least, most);
    }
    counts.push_back(value);
    begin = end + 1;
  }
  return counts;
}

uint64_t parse_seed(std::string_view option, std::string_view text) {
  uint64_t value = 0;
  if (!parse_whole_text(text, value)) {
    throw_error("{}: \"{}\" is not a whole number from 0 to {}", option, text,
                std::numeric_limits<uint64_t>::max());
  }
  return value;
}

double parse_real(std::string_view option, std::string_view text, LowerBound lower, double below) {
  double value = 0;
  const bool zero_allowed = lower == LowerBound::zero_allowed;
  const bool number = parse_whole_text(text, value);
  if (!number || !(zero_allowed ? value >= 0 : value > 0) || !(value < below)) {
    throw_error("{}: \"{}\" is not a number {} and below {}", option, text,
                zero_allowed ? "from 0" : "above 0", below);
  }
  return value;
}

Net parse_net(std::string_view option, std::string_view text) {
  return parse_name(option, text, {Net::mlp, Net::cnn});
}

TrainEngine parse_engine(std::string_view option, std::string_view text) {
  return parse_name(
      option, text,
      {TrainEngine::automatic, TrainEngine::jit, TrainEngine::interpreted, TrainEngine::dense});
}

Method parse_method(std::string_view option, std::string_view text) {
  return parse_name(option, text, {Method::fixed, Method::gmp, Method::rigl, Method::set});
}

}  // namespace sparsejit::frontend
