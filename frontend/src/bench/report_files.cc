// Texts to files; see report_files.h.
#include "bench/report_files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/bench_csv.h"
#include "bench/speed_up_plot.h"
#include "output_file.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

struct ReportFile {
  const char* option;
  std::optional<std::string> ReportTexts::*path;
  std::string (*make)(const nlohmann::ordered_json& report);
};

constexpr std::array<ReportFile, 3> kFiles = {{
    {"--json", &ReportTexts::json,
     [](const nlohmann::ordered_json& report) { return report.dump(1) + "\n"; }},
    {"--csv", &ReportTexts::csv, to_csv},
    {"--svg", &ReportTexts::svg,
     [](const nlohmann::ordered_json& report) { return plot_speed_ups(report, "--svg"); }},
}};

}  // namespace

bool takes_stdout(const ReportTexts& texts) {
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](const ReportFile& file) { return texts.*file.path == "-"; });
}

void validate_report_files(const ReportTexts& texts) {
  for (const ReportFile& file : kFiles) {
    const std::optional<std::string>& path = texts.*file.path;
    if (path && *path != "-") validate_output_path(*path, file.option);
  }
}

void write_report_files(const ReportTexts& texts, const nlohmann::ordered_json& report) {
  for (const ReportFile& file : kFiles) {
    const std::optional<std::string>& path = texts.*file.path;
    if (!path) continue;
    const std::string text = file.make(report);
    if (*path == "-") {
      print(stdout, text);
    } else {
      write_file_atomically(*path, text, file.option);
    }
  }
}

void print(std::FILE* stream, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0) {
    throw_error("bench: cannot write to {}",
                stream == stdout ? "standard output" : "standard error");
  }
}

}  // namespace sparsejit::frontend
