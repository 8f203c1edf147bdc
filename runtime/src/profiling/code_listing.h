// CodeListing: a kernel is known to the profilers and debuggers asked for as long as this exists.
//
// SPARSEJIT_PROFILE asks for them: words of `perfmap`, `jitdump` and `gdb`, with commas between
// them. It is read when a Runtime is made; without it nothing here is reached but one test for a
// null pointer a compile. What goes wrong is reported and otherwise ignored. Files and lists belong
// to the process, not to a Runtime. Thread-safe, and usable in a forked child.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "profiling/code_symbols.h"

namespace sparsejit {

using ReportLine = std::function<void(const std::string&)>;

struct Profilers {
  bool perf_map = false;
  bool jitdump = false;
  bool gdb = false;
  bool any() const { return perf_map || jitdump || gdb; }
};

// Words that mean nothing are reported and skipped.
Profilers parse_profilers(std::string_view words, const ReportLine& report);
Profilers profilers_from_environment(const ReportLine& report);

class CodeListing {
 public:
  CodeListing(Profilers profilers, CodeSymbols symbols, const ReportLine& report);
  CodeListing(const CodeListing&) = delete;
  CodeListing& operator=(const CodeListing&) = delete;
  // To be called while the code still exists.
  ~CodeListing();

 private:
  const Profilers profilers_;
  const CodeSymbols symbols_;
};

}  // namespace sparsejit
