// Comparison of a report with an earlier one: what got slower, what faster, what cannot be told.
//
//     old.json   768x3072 batch 902, sparsity 0.9, ..., native, total   24.0 ms
//     new        the same                                               29.1 ms  -> 1.21x the time
//
// Only lines with the same parameters are compared (line_key). A line is slower or faster
// when its median moved by more than the threshold and the middle halves of both samples do not
// overlap. Baselines tell about the machine: they are never slower, but their means are shown.
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/report_lines.h"

namespace sparsejit::frontend {

struct Change {
  ReportLine before;
  ReportLine after;
  double factor() const { return after.median_ms / before.median_ms; }  // of time
};

struct Comparison {
  double threshold = 0;
  std::vector<Change> slower;     // of the library's engines, the worst first
  std::vector<Change> faster;     // likewise, the best first
  std::vector<Change> library;    // all that were compared
  std::vector<Change> baselines;  // all that were compared
  std::vector<ReportLine> only_before;
  std::vector<ReportLine> only_after;
  std::vector<std::string> machine;  // "L2: 1048576, was 524288"
};

// `threshold`: 0.1 for 10%.
Comparison compare_reports(const nlohmann::ordered_json& before,
                           const nlohmann::ordered_json& after, double threshold);

std::string comparison_text(const Comparison& comparison);

}  // namespace sparsejit::frontend
