// Option texts to numbers; see arguments.h. A number must fill its whole field: "12 " and "0x10"
// are refused rather than half read. Sizes are limited here, where the text can still be quoted,
// so that no later product of two dimensions overflows.
#include "arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

template <typename Number>
std::optional<Number> parse_all(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::pair<int64_t, int64_t> parse_shape(std::string_view text, std::string_view option,
                                        std::string_view form) {
  const size_t cross = text.find('x');
  std::optional<int64_t> first;
  std::optional<int64_t> second;
  if (cross != std::string_view::npos) {
    first = parse_all<int64_t>(text.substr(0, cross));
    second = parse_all<int64_t>(text.substr(cross + 1));
  }
  if (!first || !second || *first < 1 || *second < 1) {
    throw_error("{}: \"{}\" is not {}, two positive whole numbers such as 768x3072", option, text,
                form);
  }
  if (*first > kMaxDimension || *second > kMaxDimension) {
    throw_error("{}: \"{}\" is too large, expected each number to be at most {}", option, text,
                kMaxDimension);
  }
  const int64_t max_weights = std::numeric_limits<int64_t>::max() / int64_t{sizeof(float)};
  if (*first > max_weights / *second) {
    throw_error("{}: \"{}\" is too large, expected at most {} weights", option, text, max_weights);
  }
  return {*first, *second};
}

std::vector<int64_t> split_sizes(std::string_view text) {
  std::vector<int64_t> sizes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('x', begin), text.size());
    const std::optional<int64_t> size = parse_all<int64_t>(text.substr(begin, end - begin));
    if (!size || *size < 0 || *size > kMaxDimension) return {};
    sizes.push_back(*size);
    begin = end + 1;
  }
  return sizes;
}

double parse_number(std::string_view text, std::string_view option) {
  const std::optional<double> number = parse_all<double>(text);
  if (!number || !std::isfinite(*number)) {
    throw_error("{}: \"{}\" is not a number such as 0.95", option, text);
  }
  return *number;
}

std::vector<double> parse_number_list(std::string_view text, std::string_view option) {
  std::vector<double> numbers;
  size_t begin = 0;
  while (true) {
    const size_t comma = text.find(',', begin);
    const std::string_view field = text.substr(begin, comma - begin);
    const std::optional<double> number = parse_all<double>(field);
    if (!number || !std::isfinite(*number)) {
      throw_error("{}: \"{}\" in \"{}\" is not a number, expected a list such as 0.8,0.95", option,
                  field, text);
    }
    numbers.push_back(*number);
    if (comma == std::string_view::npos) return numbers;
    begin = comma + 1;
  }
}

double validate_sparsity(double sparsity, std::string_view option) {
  if (!(sparsity >= 0.0 && sparsity < 1.0)) {
    throw_error("{}: {} is not a sparsity, expected a number from 0 up to but not including 1",
                option, sparsity);
  }
  return sparsity;
}

CLI::Validator whole_number(int64_t min, int64_t max) {
  const auto check = [min, max](const std::string& text) -> std::string {
    const std::optional<int64_t> number = parse_all<int64_t>(text);
    if (number && *number >= min && *number <= max) return {};
    return fmt::format("\"{}\" is not a whole number from {} to {}", text, min, max);
  };
  return {check, fmt::format("{}..{}", min, max), "whole_number"};
}

}  // namespace sparsejit::frontend
