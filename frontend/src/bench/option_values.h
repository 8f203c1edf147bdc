// Values of `bench` options that are lists or words: "1,2", "hot,cold".
//
// Each problem throws Error with one sentence that names the option, the text seen and what was
// expected. No state, no output; `option` is only quoted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparsejit::frontend {

std::vector<int64_t> parse_whole_numbers(const std::string& text, std::string_view option,
                                         int64_t smallest, int64_t largest);
int64_t parse_whole_number(const std::string& text, std::string_view option, int64_t smallest,
                           int64_t largest);

// "a,b" -> positions of the words in `known`, each once, in the order of `known`.
std::vector<int> parse_words(std::string_view text, std::string_view option,
                             std::span<const char* const> known);
// One word -> its position in `known`.
int parse_word(std::string_view text, std::string_view option, std::span<const char* const> known);

// Shares of weights left out: "0.8,0.95" as listed; "sweep" or a range "0.5:0.995" as points at
// about equal steps of the logarithm of the density: the ends of the range and the round numbers in
// between. "sweep" is 0.5:0.995. Ascending where the text does not list them.
std::vector<double> parse_sparsities(const std::string& text, std::string_view option);

// What was typed for an option, null when nothing was; of a list its first.
const std::string* typed(const std::optional<std::string>& text);
const std::string* typed(const std::vector<std::string>& texts);

// For an option that another one leaves no room for: Error if `text` is not null.
void refuse(const std::string* text, const char* option, const char* expectation);

}  // namespace sparsejit::frontend
