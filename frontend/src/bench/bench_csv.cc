// Fields and lines; see bench_csv.h.
#include "bench/bench_csv.h"

#include <array>
#include <nlohmann/json.hpp>

namespace sparsejit::frontend {
namespace {

// New columns go to the end: scripts may count.
constexpr std::array kColumns = {"kind",
                                 "layer",
                                 "image",
                                 "stride",
                                 "padding",
                                 "dilation",
                                 "groups",
                                 "mask",
                                 "batch",
                                 "sparsity",
                                 "nnz",
                                 "threads",
                                 "layout",
                                 "pitch",
                                 "bias",
                                 "dx",
                                 "seed",
                                 "dense_algorithms",
                                 "occurrences",
                                 "pass",
                                 "engine",
                                 "state",
                                 "median_ms",
                                 "quartile1_ms",
                                 "quartile3_ms",
                                 "samples",
                                 "gflops",
                                 "fma_share",
                                 "l2_share",
                                 "memory_share",
                                 "x_dense",
                                 "x_paper_loop",
                                 "x_interpreted",
                                 "chosen",
                                 "code_bytes",
                                 "compile_ms",
                                 "break_even_calls",
                                 "max_rel_error",
                                 "ran_on"};

std::string value_text(const nlohmann::ordered_json& result, const char* column) {
  const auto found = result.find(column);
  if (found == result.end() || found->is_null()) return "";
  return csv_field(found->is_string() ? found->get<std::string>() : found->dump());
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

std::string to_csv(const nlohmann::ordered_json& report) {
  std::string csv;
  for (const char* column : kColumns) {
    if (!csv.empty()) csv += ',';
    csv += column;
  }
  csv += '\n';
  for (const nlohmann::ordered_json& result : report.at("results")) {
    std::string line;
    for (const char* column : kColumns) line += value_text(result, column) + ',';
    line.back() = '\n';
    csv += line;
  }
  return csv;
}

}  // namespace sparsejit::frontend
