// See code_listing.h.
#include "profiling/code_listing.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "fork.h"
#include "profiling/gdb_jit.h"
#include "profiling/jitdump.h"
#include "profiling/perf_map.h"

namespace sparsejit {
namespace {

struct ProcessListings {
  PerfMap perf_map;
  JitDump jitdump;
  GdbJit gdb;
  std::vector<std::string> reported;  // each problem is reported once
};

std::mutex& listings_lock() { return fork_lock(ForkLock::listings); }

// Never destroyed: kernels of static objects may go later than anything here would.
ProcessListings& listings() {
  static ProcessListings* const instance = new ProcessListings;
  return *instance;
}

bool is_new_problem(ProcessListings& all, const std::string& problem) {
  if (problem.empty()) return false;
  for (const std::string& known : all.reported) {
    if (known == problem) return false;
  }
  all.reported.push_back(problem);
  return true;
}

}  // namespace

Profilers parse_profilers(std::string_view words, const ReportLine& report) {
  Profilers profilers;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (word == "perfmap") {
      profilers.perf_map = true;
    } else if (word == "jitdump") {
      profilers.jitdump = true;
    } else if (word == "gdb") {
      profilers.gdb = true;
    } else if (!word.empty() && report) {
      report(fmt::format("SPARSEJIT_PROFILE: unknown word '{}', expected perfmap, jitdump or gdb",
                         word));
    }
  }
  return profilers;
}

Profilers profilers_from_environment(const ReportLine& report) {
  const char* words = std::getenv("SPARSEJIT_PROFILE");
  return words == nullptr ? Profilers{} : parse_profilers(words, report);
}

// Reports after the lock is given up: the caller's function may do anything.
CodeListing::CodeListing(Profilers profilers, CodeSymbols symbols, const ReportLine& report)
    : profilers_(profilers), symbols_(std::move(symbols)) {
  std::vector<std::string> problems;
  ProcessListings& all = listings();
  {
    const std::lock_guard lock(listings_lock());
    if (profilers_.perf_map) problems.push_back(all.perf_map.add(symbols_));
    if (profilers_.jitdump) problems.push_back(all.jitdump.add(symbols_));
    if (profilers_.gdb) all.gdb.add(symbols_);
    std::erase_if(problems, [&](const auto& problem) { return !is_new_problem(all, problem); });
  }
  if (!report) return;
  for (const std::string& problem : problems) report(problem);
}

CodeListing::~CodeListing() {
  ProcessListings& all = listings();
  const std::lock_guard lock(listings_lock());
  if (profilers_.jitdump) all.jitdump.remove(symbols_);
  if (profilers_.gdb) all.gdb.remove(symbols_);
}

}  // namespace sparsejit
