// The files of a report: JSON, CSV and the plot, of one run or of a report read back.
//
//     validate_report_files(texts)     before the work: Error if one could not be written
//     ... minutes of measuring ...
//     write_report_files(texts, report)
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/options.h"

namespace sparsejit::frontend {

// Whether one of them takes standard output.
bool takes_stdout(const ReportTexts& texts);

void validate_report_files(const ReportTexts& texts);
void write_report_files(const ReportTexts& texts, const nlohmann::ordered_json& report);

// Error when the stream does not take it all.
void print(std::FILE* stream, const std::string& text);

}  // namespace sparsejit::frontend
