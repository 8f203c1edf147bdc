// See perf_map.h.
#include "profiling/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "profiling/profile_file.h"

namespace sparsejit {
namespace {

std::string line_text(uintptr_t begin, int64_t size, const std::string& name) {
  return fmt::format("{:x} {:x} {}\n", begin, size, name);
}

uintptr_t address_of(const CodeSymbol& symbol) { return reinterpret_cast<uintptr_t>(symbol.begin); }

}  // namespace

// True if there were any.
bool PerfMap::drop_overlapped(const CodeSymbols& symbols) {
  const uintptr_t begin = address_of(symbols.front());
  auto first = lines_.lower_bound(begin);
  if (first != lines_.begin()) {
    const auto before = std::prev(first);
    if (before->first + static_cast<uintptr_t>(before->second.size) > begin) first = before;
  }
  const auto last = lines_.lower_bound(begin + static_cast<uintptr_t>(code_size(symbols)));
  const bool any = first != last;
  lines_.erase(first, last);
  return any;
}

std::string PerfMap::all_lines() const {
  std::string text;
  for (const auto& [begin, line] : lines_) text += line_text(begin, line.size, line.name);
  return text;
}

std::string PerfMap::add(const CodeSymbols& symbols) {
  const bool anew = drop_overlapped(symbols) || pid_ != getpid();
  pid_ = getpid();
  std::string text;
  for (const CodeSymbol& symbol : symbols) {
    lines_[address_of(symbol)] = {.size = symbol.size, .name = symbol.name};
    if (!anew) text += line_text(address_of(symbol), symbol.size, symbol.name);
  }
  if (anew) text = all_lines();
  ProfileFile file;
  file.open(fmt::format("/tmp/perf-{}.map", pid_), anew ? O_TRUNC : O_APPEND);
  file.write(text.data(), text.size());
  return file.problem();
}

}  // namespace sparsejit
