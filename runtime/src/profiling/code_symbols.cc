// See code_symbols.h.
#include "profiling/code_symbols.h"

#include <fmt/format.h>

namespace sparsejit {

CodeSymbols chunk_symbols(const Mask& mask, Pass side, KernelKind kind,
                          std::span<const std::span<const uint8_t>> chunks) {
  const Pass pass = kind == KernelKind::accumulate ? side : Pass::backward;
  const std::string kernel =
      fmt::format("sparsejit_{}_{}_{}", to_text(mask.shape()), to_text(pass), to_text(kind));
  const std::string hash = short_name(mask.hash());
  CodeSymbols symbols;
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].empty()) continue;
    symbols.push_back({.name = fmt::format("{}_chunk{}_{}", kernel, i, hash),
                       .begin = chunks[i].data(),
                       .size = static_cast<int64_t>(chunks[i].size())});
  }
  return symbols;
}

}  // namespace sparsejit
