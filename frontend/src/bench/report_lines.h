// ReportLine: one result of a report (bench_json.h) with its parameters, for everything that works
// on reports of now and of earlier runs alike: crossovers, plot, comparison.
//
//     {"layer": "768x3072", "batch": 902, "sparsity": 0.9, "pass": "total", ...}
//       -> {layer "768x3072 batch 902", sparsity 0.9, pass "total", ...}
//
// Words stay texts: a report of another version may name an engine this one does not know.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sparsejit::frontend {

struct ReportLine {
  // Everything the work depends on but the mask: "128x256x3x3 on 7x7, padding 1, batch 8, bias".
  std::string layer;
  std::string mask;  // name of the mask file, if it is from one
  double sparsity = 0;
  int threads = 1;
  std::string pass;
  std::string engine;
  std::string state;
  double median_ms = 0;
  double quartile1_ms = 0;
  double quartile3_ms = 0;
  bool chosen = false;  // by the automatic picker
};

// "768x3072 batch 902, sparsity 0.9, 1 thread"
std::string describe_workload(const ReportLine& line);
// "768x3072 batch 902, sparsity 0.9, 1 thread, hot, native": all but the pass and the times.
std::string describe(const ReportLine& line);

// All of describe and the pass: equal for the same line of two runs.
std::string line_key(const ReportLine& line);

// `report` is well-formed; see load_report.
std::vector<ReportLine> report_lines(const nlohmann::ordered_json& report);

// A report from a file. Error naming the option, the path and what is wrong with it when it cannot
// be read, is no JSON, or lacks fields that report_lines reads.
nlohmann::ordered_json load_report(const std::string& path, std::string_view option);

}  // namespace sparsejit::frontend
