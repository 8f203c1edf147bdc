// See code_symbols.h.
#include "profiling/code_symbols.h"

#include <fmt/format.h>

namespace sparsejit {

CodeSymbols chunk_symbols(const Mask& mask, Pass side, KernelKind kind, const uint8_t* code,
                          std::span<const int64_t> chunk_begin) {
  const Pass pass = kind == KernelKind::accumulate ? side : Pass::backward;
  const std::string kernel =
      fmt::format("sparsejit_{}_{}_{}", to_text(mask.shape()), to_text(pass), to_text(kind));
  const std::string hash = short_name(mask.hash());
  CodeSymbols symbols;
  for (size_t i = 0; i + 1 < chunk_begin.size(); ++i) {
    symbols.push_back({.name = fmt::format("{}_chunk{}_{}", kernel, i, hash),
                       .begin = code + chunk_begin[i],
                       .size = chunk_begin[i + 1] - chunk_begin[i]});
  }
  return symbols;
}

}  // namespace sparsejit
