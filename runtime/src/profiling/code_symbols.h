// CodeSymbol: what profilers and debuggers are told of one chunk of a kernel.
//
//     sparsejit_3072x768_forward_accumulate_chunk3_1f3a5b7c9d0e2f41
//               shape    pass    kind       number mask hash
//
// The chunks that are published together lie one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sparsejit/mask.h"
#include "sparsejit/plan.h"

namespace sparsejit {

struct CodeSymbol {
  std::string name;
  const uint8_t* begin = nullptr;
  int64_t size = 0;
};

// One kernel, at least one symbol, ascending and without gaps.
using CodeSymbols = std::vector<CodeSymbol>;

// One for each chunk that is not empty. `side`: the table the kernel walks.
CodeSymbols chunk_symbols(const Mask& mask, Pass side, KernelKind kind,
                          std::span<const std::span<const uint8_t>> chunks);

inline int64_t code_size(const CodeSymbols& symbols) {
  return symbols.back().begin + symbols.back().size - symbols.front().begin;
}

}  // namespace sparsejit
