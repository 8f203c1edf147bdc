// Writing a result file whole or not at all.
//
//     validate_output_path(path)   before the work: Error if the file could not be written
//     ... minutes of measuring ...
//     write_file_atomically(path, text)
//
// The text goes to a temporary file beside the target, which then takes the target's name: a
// reader sees the old content or the new, never a part. A symbolic link is followed.
#pragma once

#include <string>
#include <string_view>

namespace sparsejit::frontend {

// Tries to create a file where the temporary one will be. `option` is quoted in the message.
void validate_output_path(const std::string& path, std::string_view option);

void write_file_atomically(const std::string& path, std::string_view text, std::string_view option);

}  // namespace sparsejit::frontend
