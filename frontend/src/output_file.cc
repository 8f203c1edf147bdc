// Temporary file and rename; see output_file.h.
#include "output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

namespace fs = std::filesystem;

fs::path resolve(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? fs::path(path) : target;
}

std::string temporary_name(const fs::path& target) {
  return fmt::format("{}.{}.tmp", target.string(), getpid());
}

[[noreturn]] void throw_unwritable(const std::string& path, std::string_view option) {
  throw_error("{}: cannot write \"{}\" ({}), expected a path in a writable folder", option, path,
              std::strerror(errno));
}

}  // namespace

void validate_output_path(const std::string& path, std::string_view option) {
  const fs::path target = resolve(path);
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (path.empty() || (fs::exists(status) && !fs::is_regular_file(status))) {
    throw_error(
        "{}: \"{}\" is not a regular file, expected a path to write or - for standard "
        "output",
        option, path);
  }
  const std::string temporary = temporary_name(target);
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) throw_unwritable(path, option);
  std::fclose(file);
  std::remove(temporary.c_str());
}

void write_file_atomically(const std::string& path, std::string_view text,
                           std::string_view option) {
  const fs::path target = resolve(path);
  const std::string temporary = temporary_name(target);
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) throw_unwritable(path, option);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    std::remove(temporary.c_str());
    errno = cause;
    throw_unwritable(path, option);
  }
}

}  // namespace sparsejit::frontend
