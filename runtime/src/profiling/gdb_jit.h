// GdbJit: the interface by which gdb and lldb learn of generated code ("JIT Compilation Interface"
// in gdb's manual): a list of ELF objects in memory, and a function they put a breakpoint on.
//
//     __jit_debug_descriptor ─▶ entry ◀─▶ entry ◀─▶ ...      one for each kernel in existence
//                               │ make_elf_object(symbols)
//     __jit_debug_register_code()      called after each change
//
// Both names are weak, so that another generator in the same program may bring its own. A forked
// child inherits the list with the code. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "profiling/code_symbols.h"

namespace sparsejit {

class GdbJit {
 public:
  GdbJit();
  ~GdbJit();

  void add(const CodeSymbols& symbols);
  void remove(const CodeSymbols& symbols);

 private:
  struct Registration;
  std::map<const uint8_t*, std::unique_ptr<Registration>> registered_;
};

}  // namespace sparsejit
