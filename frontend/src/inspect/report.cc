// Mask, plan, sizes and histogram sections; see report.h. Sizes are those of the emitted code with
// the padding between chunks; "estimated" compares the plan's estimate, which the code budget is
// first held against, with them.
#include "inspect/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "conv_arguments.h"

namespace sparsejit::frontend {
namespace {

double ratio(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }

// Smallest, mean and largest of a quantity over the chunks.
struct Spread {
  double min = 0;
  double max = 0;
  double total = 0;
  int64_t count = 0;

  void add(double value) {
    min = count == 0 ? value : std::min(min, value);
    max = std::max(max, value);
    total += value;
    ++count;
  }
  double mean() const { return ratio(total, static_cast<double>(count)); }
};

std::string sizes_text(const KernelInspection& kernel) {
  constexpr int64_t kWordBytes = 4;
  Spread bytes;
  Spread tables;
  Spread taps;
  for (int64_t chunk = 0; chunk < kernel.chunks(); ++chunk) {
    bytes.add(static_cast<double>(chunk_range(kernel.code, chunk).size()));
    tables.add(static_cast<double>(kWordBytes * std::ssize(table_words(kernel.code, chunk))));
    taps.add(static_cast<double>(kernel.plan.chunks[static_cast<size_t>(chunk)].taps));
  }
  const auto estimate = static_cast<double>(kernel.plan.code_bytes_estimate);
  const double all = bytes.total + tables.total;
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "sizes\n  {:<12}{:>10}{:>12}{:>10}{:>10}\n", "", "total", "chunk min", "mean",
                 "max");
  fmt::format_to(out, "  {:<12}{:>10}{:>12}{:>10.1f}{:>10}\n", "code bytes", bytes.total, bytes.min,
                 bytes.mean(), bytes.max);
  if (tables.total > 0) {
    fmt::format_to(out, "  {:<12}{:>10}{:>12}{:>10.1f}{:>10}\n", "table bytes", tables.total,
                   tables.min, tables.mean(), tables.max);
  }
  fmt::format_to(out, "  {:<12}{:>10}{:>12}{:>10.1f}{:>10}\n", "taps", taps.total, taps.min,
                 taps.mean(), taps.max);
  if (taps.total > 0) {
    fmt::format_to(out, "  {:<12}{:>10.1f}\n", "bytes a tap", all / taps.total);
  }
  fmt::format_to(out, "  {:<12}{:>10}   {:+.1f}% of the code\n", "estimated", estimate,
                 100 * ratio(estimate - all, all));
  return text;
}

void append_counts(std::string& text, const InstructionCount& count, const Histogram& all) {
  fmt::format_to(
      std::back_inserter(text), "  {:<14}{:>10}{:>8.1f}%{:>12}{:>8.1f}%{:>10.1f}\n", count.name,
      count.count,
      100 * ratio(static_cast<double>(count.count), static_cast<double>(all.instructions)),
      count.bytes, 100 * ratio(static_cast<double>(count.bytes), static_cast<double>(all.bytes)),
      ratio(static_cast<double>(count.bytes), static_cast<double>(count.count)));
}

std::string line_text(const char* name, const char* one, const LineSummary& summary) {
  std::string text = fmt::format("{:<10} {}, {} empty, mean {:.1f} stored", name, summary.lines,
                                 summary.empty, summary.mean_taps);
  if (summary.longest_taps > 0) {
    text +=
        fmt::format(", longest {} ({} {}, {:.1f} x the mean)", summary.longest_taps, one,
                    summary.longest, static_cast<double>(summary.longest_taps) / summary.mean_taps);
  }
  return text + '\n';
}

// The grid that makes every tap a shift; see conv2d.h.
std::string streams_text(const ConvStreams& streams, int64_t images_per_slab) {
  const StreamGrid& grid = streams.grid;
  std::string text = fmt::format(
      "streams: row pitch {}, {} rows an image ({} floats), halo {} rows and {} columns, "
      "{} images a slab\n",
      grid.row_pitch, grid.image_rows, grid.image_pitch(), grid.halo_rows, grid.halo_columns,
      images_per_slab);
  if (streams.source.planes.size() == 1) return text;
  for (const StreamPlane& plane : streams.source.planes) {
    text += fmt::format("  plane ({},{}): {}x{} pixels of each channel\n", plane.row_phase,
                        plane.column_phase, plane.rows, plane.columns);
  }
  return text;
}

std::string duration_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", 1e6 * seconds)
                        : fmt::format("{:.2f} ms", 1e3 * seconds);
}

}  // namespace

LineSummary summarize_rows(const TapTable& table) {
  LineSummary summary;
  summary.lines = table.rows();
  summary.mean_taps = ratio(static_cast<double>(table.size()), static_cast<double>(table.rows()));
  for (size_t row = 0; row + 1 < table.row_begin.size(); ++row) {
    const int64_t taps = table.row_begin[row + 1] - table.row_begin[row];
    if (taps == 0) ++summary.empty;
    if (taps > summary.longest_taps) {
      summary.longest = static_cast<int64_t>(row);
      summary.longest_taps = taps;
    }
  }
  return summary;
}

std::string mask_text(const InspectedLayer& layer) {
  const Mask& mask = layer.mask;
  const std::string shape = layer.conv
                                ? to_text(mask.shape()) + " (out x in of a group x kernel)"
                                : fmt::format("{} x {} (out x in)", mask.rows(), mask.cols());
  return fmt::format("{:<10} {}, {} stored, {:.2f}% sparse, hash {}\n", "mask", shape, mask.nnz(),
                     100 * mask.sparsity(), short_name(mask.hash())) +
         line_text("rows", "row", summarize_rows(layer.forward)) +
         (layer.conv ? line_text("streams", "stream", summarize_rows(layer.backward))
                     : line_text("columns", "column", summarize_rows(layer.backward)));
}

std::string conv_text(const InspectedConv& conv) {
  const std::string geometry = to_text(conv.conv);
  return fmt::format("{:<10} {} -> {}, {}\n", "images", to_text(conv.image),
                     to_text(conv.streams.destination.size),
                     geometry.empty() ? "stride 1, no padding" : geometry);
}

std::string plan_section(const KernelInspection& kernel) {
  const auto taps = static_cast<double>(kernel.table().size());
  std::string text = "plan: " + to_text(kernel.plan) + '\n';
  if (kernel.layer->conv) text += streams_text(kernel.layer->conv->streams, kernel.images_per_slab);
  text += sizes_text(kernel);
  text += fmt::format("  {:<12}{:>13} to emit", "time", duration_text(kernel.emit_seconds));
  if (taps > 0) text += fmt::format(", {:.1f} ns a tap", 1e9 * kernel.emit_seconds / taps);
  return text + " (median of 5)\n";
}

std::string histogram_section(const Histogram& histogram) {
  std::string text = fmt::format("instructions\n  {:<14}{:>10}{:>9}{:>12}{:>9}{:>10}\n", "mnemonic",
                                 "count", "share", "bytes", "share", "each");
  for (const InstructionCount& count : histogram.mnemonics) append_counts(text, count, histogram);
  append_counts(text, {"all", histogram.instructions, histogram.bytes}, histogram);
  text += fmt::format("  {:<14}{:>10}\n\n  {:<14}{:>10}{:>9}{:>12}{:>9}{:>10}\n", "(bad)",
                      histogram.bad, "displacement", "count", "share", "bytes", "share", "each");
  for (const InstructionCount& count : histogram.displacements) {
    append_counts(text, count, histogram);
  }
  return text;
}

}  // namespace sparsejit::frontend
