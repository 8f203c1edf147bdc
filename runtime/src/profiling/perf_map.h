// PerfMap: /tmp/perf-PID.map, where `perf report` looks for the names of generated code. One line a
// chunk, in hexadecimal: address, size, name.
//
//     7f3a10000000 1c0 sparsejit_3072x768_forward_accumulate_chunk0_1f3a5b7c9d0e2f41
//
// Lines of freed code stay, for samples taken before, until new code uses their addresses; then the
// file is written anew without them. So lines never overlap. In a forked child the first new
// kernel writes the child's own file, inherited kernels included. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "profiling/code_symbols.h"

namespace sparsejit {

class PerfMap {
 public:
  // Returns why the file cannot be written, or nothing.
  std::string add(const CodeSymbols& symbols);

 private:
  struct Line {
    int64_t size = 0;
    std::string name;
  };

  bool drop_overlapped(const CodeSymbols& symbols);
  std::string all_lines() const;

  std::map<uintptr_t, Line> lines_;  // what the file says
  pid_t pid_ = 0;                    // whose file it is
};

}  // namespace sparsejit
