// The results of a report (bench_json.h) as comma-separated values (RFC 4180), for spreadsheets and
// data frames: a header, then one line a result. Columns are always the same and named as in the
// JSON; a field that a result does not have, or that is null there, is empty. Lines end in \n.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sparsejit::frontend {

std::string to_csv(const nlohmann::ordered_json& report);

// Quoted where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace sparsejit::frontend
