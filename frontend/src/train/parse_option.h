// Option values from text. The option library's own messages say that a conversion failed; these
// say what was seen and what was expected: --batch: "0" is not a whole number from 1 to 1000.
// Every function throws Error for text that is not entirely such a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/train_options.h"

namespace sparsejit::frontend {

int64_t parse_count(std::string_view option, std::string_view text, int64_t least, int64_t most);
// "256,128": at least one count.
std::vector<int64_t> parse_counts(std::string_view option, std::string_view text, int64_t least,
                                  int64_t most);
uint64_t parse_seed(std::string_view option, std::string_view text);

enum class LowerBound { zero_allowed, above_zero };
// A number from 0 (or above it) and below `below`; "nan" is none.
double parse_real(std::string_view option, std::string_view text, LowerBound lower, double below);

Net parse_net(std::string_view option, std::string_view text);
TrainEngine parse_engine(std::string_view option, std::string_view text);
Method parse_method(std::string_view option, std::string_view text);

}  // namespace sparsejit::frontend
