// Parsing of option texts that CLI11 has no type for: shapes, lists of numbers, sparsities.
//
// Every function throws Error with one sentence that names the option, the text seen and what was
// expected:
//
//     --shape: "12x" is not INxOUT, two positive whole numbers such as 768x3072
//
// No state, no output; `option` is only quoted.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsejit::frontend {

// Largest number of rows or columns; stream and row numbers are 32-bit in a tap.
inline constexpr int64_t kMaxDimension = INT32_MAX;

// "768x3072" -> {768, 3072}, in the order written. `form` names the order in the message. Each
// number is 1..kMaxDimension and a dense float matrix of the shape has a 63-bit size in bytes.
std::pair<int64_t, int64_t> parse_shape(std::string_view text, std::string_view option,
                                        std::string_view form = "INxOUT");

// "3x0x7" -> {3, 0, 7}: whole numbers of 0..kMaxDimension; empty when `text` is anything else.
std::vector<int64_t> split_sizes(std::string_view text);

// "0.95" -> 0.95: one finite number.
double parse_number(std::string_view text, std::string_view option);

// "0.8,0.95" -> {0.8, 0.95}: one or more finite numbers separated by single commas.
std::vector<double> parse_number_list(std::string_view text, std::string_view option);

// Returns `sparsity` when it is a share of weights left out: 0 <= sparsity < 1.
double validate_sparsity(double sparsity, std::string_view option);

// For CLI11 options of integer type: option->check(whole_number(1)). CLI11 quotes the option's
// name.
CLI::Validator whole_number(int64_t min, int64_t max = kMaxDimension);

}  // namespace sparsejit::frontend
