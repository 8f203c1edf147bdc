// The report of `inspect` as text: one function a section, each gives whole lines.
//
// Sections are read side by side by an engineer, so columns are aligned and every number says
// what it counts. Nothing here prints; inspect_command.cc does, once everything is known.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/histogram.h"
#include "inspect/inspection.h"
#include "sparsejit/mask.h"

namespace sparsejit::frontend {

struct ReportOptions {
  bool taps = true;
  bool plan = true;
  bool listing = true;
  bool histogram = true;
  bool bytes = false;      // hexadecimal bytes in the listing
  int64_t max_lines = 40;  // of taps and of the listing; 0: no limit
};

// Taps of the rows (or columns) of a mask.
struct LineSummary {
  int64_t lines = 0;
  int64_t empty = 0;
  int64_t longest = 0;  // its number
  int64_t longest_taps = 0;
  double mean_taps = 0;
};

LineSummary summarize_rows(const TapTable& table);

std::string mask_text(const InspectedLayer& layer);
std::string conv_text(const InspectedConv& conv);          // geometry and sizes
std::string plan_section(const KernelInspection& kernel);  // plan, sizes, compile time
std::string histogram_section(const Histogram& histogram);
// Taps and code of what `listing` chose; in listing_text.cc.
std::string taps_section(const KernelInspection& kernel, const Listing& listing,
                         const ReportOptions& options);
std::string listing_section(const KernelInspection& kernel, const Listing& listing,
                            const ReportOptions& options);

}  // namespace sparsejit::frontend
