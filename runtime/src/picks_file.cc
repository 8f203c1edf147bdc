// See picks_file.h.
#include "picks_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr std::string_view kFirstLine = "sparsejit picks 1";
constexpr size_t kMaxLine = 1024;

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') return false;
  }
  return !text.empty();
}

// Like std::getline, but never reads more than a line can have; false: no whole line.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return true;
    if (line.size() == kMaxLine) return false;
    line += static_cast<char>(c);
  }
  return false;
}

PicksFile malformed(const std::string& path, int64_t line, const std::string& what) {
  PicksFile file;
  file.problem = fmt::format("picks file {}: line {} {}; the file is ignored", path, line, what);
  return file;
}

PicksFile foreign(const std::string& path, const std::string& what) {
  PicksFile file = {.picks = {}, .problem = {}, .foreign = true};
  file.problem = fmt::format("picks file {}: {}; it is neither read nor replaced", path, what);
  return file;
}

PicksFile read_lines(const std::string& path, std::istream& in) {
  PicksFile file;
  std::string line;
  for (int64_t number = 2; in.peek() != std::istream::traits_type::eof(); ++number) {
    if (number > kMaxPicks + 1) return malformed(path, number, "is one too many");
    if (!read_line(in, line)) {
      return malformed(path, number, fmt::format("has no end within {} characters", kMaxLine));
    }
    const size_t tab = line.find('\t');
    const std::string_view text = line;
    if (tab == std::string::npos || !is_printable(text.substr(0, tab)) ||
        !is_printable(text.substr(tab + 1))) {
      return malformed(path, number, "is not a candidate's name, a tab and a key");
    }
    file.picks.push_back({.key = line.substr(tab + 1), .candidate = line.substr(0, tab)});
  }
  return file;
}

std::string write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return std::strerror(errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(descriptor) == 0 ? "" : std::strerror(errno);
}

// Of a link, what it leads to: a rename would replace the link.
std::string target_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

PicksFile read_picks_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (status.type() == std::filesystem::file_type::none) return foreign(path, error.message());
  if (!std::filesystem::is_regular_file(status)) return foreign(path, "it is no regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return foreign(path, std::strerror(errno));
  std::string line;
  const bool whole = read_line(in, line);
  if (!whole && line.empty() && in.eof()) return {};  // an empty file, made to be filled
  if (!whole || line != kFirstLine) {
    return foreign(path, fmt::format("it does not begin with the line '{}'", kFirstLine));
  }
  return read_lines(path, in);
}

std::string write_picks_file(const std::string& path, const std::vector<Pick>& picks) {
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const Pick& pick : picks) text += fmt::format("{}\t{}\n", pick.candidate, pick.key);
  const std::string target = target_of(path);
  std::string temporary = target + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  std::string problem = descriptor < 0 ? std::strerror(errno) : write_all(descriptor, text);
  if (descriptor >= 0) {
    constexpr mode_t kReadableByAll = 0644;
    ::fchmod(descriptor, kReadableByAll);
    if (::close(descriptor) != 0 && problem.empty()) problem = std::strerror(errno);
    if (problem.empty() && ::rename(temporary.c_str(), target.c_str()) != 0) {
      problem = std::strerror(errno);
    }
    if (!problem.empty()) ::unlink(temporary.c_str());
  }
  if (problem.empty()) return {};
  return fmt::format("picks file {}: cannot be written: {}", path, problem);
}

}  // namespace sparsejit
