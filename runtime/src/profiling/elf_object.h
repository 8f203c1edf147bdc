// make_elf_object: an ELF file in memory that describes a kernel to a debugger.
//
//     .text      no bytes, only where the code lies
//     .symtab    a function a chunk
//     .eh_frame  how to find the caller: kernels use no stack, so at every instruction the return
//                address is at rsp and the caller's rsp is 8 above it
//
// Debuggers read it; nothing links or loads it. The result is its bytes. Pure.
#pragma once

#include <string>

#include "profiling/code_symbols.h"

namespace sparsejit {

std::string make_elf_object(const CodeSymbols& symbols);

}  // namespace sparsejit
