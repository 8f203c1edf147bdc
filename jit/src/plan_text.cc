// Plans as text: one decision a line, for `inspect`, explain() and golden tests.
#include <algorithm>
#include <iterator>

#include "sparsejit/error.h"
#include "sparsejit/plan.h"

namespace sparsejit {

const char* to_text(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

const char* to_text(KernelKind kind) {
  switch (kind) {
    case KernelKind::accumulate:
      return "accumulate";
    case KernelKind::fused:
      return "fused";
    case KernelKind::products:
      return "products";
  }
  return "?";
}

const char* to_text(KernelFamily family) {
  switch (family) {
    case KernelFamily::stream:
      return "stream";
    case KernelFamily::resident:
      return "resident";
    case KernelFamily::tiled:
      return "tiled";
    case KernelFamily::table:
      return "table";
    case KernelFamily::strip:
      return "strip";
  }
  return "?";
}

std::string to_text(const Plan& plan) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{} {}\n", to_text(plan.kind), to_text(plan.family));
  if (plan.family == KernelFamily::resident) {
    fmt::format_to(out, "  vectors {} (streams of {} floats)\n", plan.vectors, plan.panel);
    fmt::format_to(out, "  rows a group {}\n", plan.rows_per_group);
  } else {
    fmt::format_to(out, "  panel {} floats\n", plan.panel);
    fmt::format_to(out, "  blocks {} of {} streams\n", plan.blocks, plan.block_streams);
  }
  if (plan.family == KernelFamily::tiled) {
    fmt::format_to(out, "  tiles of {} floats, rows a group {}, a part at most {}\n", kTileFloats,
                   plan.rows_per_group, plan.most_rows());
    if (plan.own_in_tiles) text += "  results stay in tiles\n";
  }
  if (plan.family == KernelFamily::table) {
    fmt::format_to(out, "  vectors {}, rows a group {}\n", plan.vectors, plan.rows_per_group);
    fmt::format_to(out, "  the table names {}\n",
                   plan.names_values ? "streams and values" : "streams");
    if (plan.prefetch != 0) {
      fmt::format_to(out, "  values prefetched: {}\n",
                     plan.kind == KernelKind::accumulate
                         ? fmt::format("{} lines a row", plan.prefetch)
                         : fmt::format("{} taps ahead", plan.prefetch));
    }
  }
  if (plan.lanes == 16) text += "  AVX-512: vectors of 16 floats\n";
  if (plan.tail) text += "  last vector overlaps: the stream is no multiple of the lanes\n";
  if (plan.relu) text += "  ReLU: negative sums become 0\n";
  fmt::format_to(out, "  taps a group {}\n", plan.taps_per_group);
  const bool strip = plan.family == KernelFamily::strip;
  fmt::format_to(out, "  values {}\n",
                 !plan.packed_values ? "by value index"
                 : strip             ? "in the order of groups"
                                     : "in table order");
  fmt::format_to(out, "  pitch gathered {} own {} paired {}\n", plan.pitches.gathered,
                 plan.pitches.own, plan.pitches.paired);
  int64_t largest = 0;
  int64_t taps = 0;
  for (const Chunk& chunk : plan.chunks) {
    largest = std::max(largest, chunk.taps);
    taps += chunk.taps;
  }
  fmt::format_to(out, "  chunks {} ({} parts), {} taps, largest {}\n", plan.chunks.size(),
                 plan.parts(), taps, largest);
  fmt::format_to(out, "  code estimate {} bytes\n", plan.code_bytes_estimate);
  return text;
}

}  // namespace sparsejit
