// What the readers of mask files share: lines, words, whole numbers, and messages that name the
// source and quote what was seen as one line of printable text.
//
// The rule for memory: what a reader allocates grows with the bytes that are really there, never
// with a number they announce. A mask needs an offset for each row, so formats that may leave rows
// out are bounded by `validate_row_count`. Pure, except for read_file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sparsejit/error.h"
#include "sparsejit/mask.h"

namespace sparsejit {

// The whole file. `kind` names the format in the message of a file that cannot be read.
std::string read_file(const std::string& path, std::string_view kind);

// Takes the first line off the text; what follows the last newline counts as a line too.
std::string_view take_line(std::string_view& text);

// Takes the first word off the line; empty when there is none.
std::string_view take_word(std::string_view& line, std::string_view separators = " \t\r");

// "\"word\"", cut after 20 characters, what cannot be printed as \x00.
std::string quoted(std::string_view word);

int64_t parse_whole(std::string_view word, int64_t line, std::string_view source);

// Throws when a source of this many bytes announces more rows than it justifies: one a byte, or
// 65536 (half a MiB of offsets), whichever is more.
void validate_row_count(int64_t rows, size_t bytes, std::string_view source);

// Runs `read`; an Error about the mask itself ("mask: ...") becomes one about the source.
template <typename Read>
Mask name_source(std::string_view source, Read&& read) {
  constexpr std::string_view kPrefix = "mask: ";
  try {
    return read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (!message.starts_with(kPrefix)) throw;
    throw_error("{}: {}", source, message.substr(kPrefix.size()));
  }
}

}  // namespace sparsejit
