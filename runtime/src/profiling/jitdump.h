// JitDump: jit-PID.dump in $JITDUMPDIR or the current directory, code and names of every chunk with
// the time it appeared, for `perf inject --jit`
// (tools/perf/Documentation/jitdump-specification.txt).
//
//     perf record -k 1 PROGRAM; perf inject --jit -i perf.data -o out; perf annotate -i out
//
// The first page of the file is mapped executable and never touched: that mapping is how perf
// learns of the file. Code that is freed needs no record; what is loaded over it replaces it. In a
// forked child the first new kernel opens the child's own file, inherited kernels included. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "profiling/code_symbols.h"
#include "profiling/profile_file.h"

namespace sparsejit {

class JitDump {
 public:
  // Returns why the file cannot be written, or nothing.
  std::string add(const CodeSymbols& symbols);
  void remove(const CodeSymbols& symbols);

 private:
  void open();
  void write_header();
  void write_load(const CodeSymbol& symbol);

  ProfileFile file_;
  pid_t pid_ = 0;  // whose file it is
  void* marker_ = nullptr;
  uint64_t loads_ = 0;
  std::map<const uint8_t*, CodeSymbols> live_;  // for the file of a forked child
};

}  // namespace sparsejit
