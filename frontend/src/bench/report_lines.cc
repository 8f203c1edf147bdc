// Fields to lines; see report_lines.h.
#include "bench/report_lines.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

using Json = nlohmann::ordered_json;

// Fields that older reports lack have had one value only; see `otherwise` below.
std::string text_or(const Json& result, const char* field, const char* otherwise) {
  return result.value(field, std::string(otherwise));
}

std::string conv_text(const Json& result) {
  if (text_or(result, "kind", "linear") == "linear") return "";
  std::string text = " on " + result.at("image").get<std::string>();
  const auto add = [&](const char* field, const char* otherwise) {
    const std::string value = text_or(result, field, otherwise);
    if (value != otherwise) text += fmt::format(", {} {}", field, value);
  };
  add("stride", "1");
  add("padding", "0");
  add("dilation", "1");
  const int64_t groups = result.value("groups", int64_t{1});
  if (groups != 1) text += fmt::format(", groups {}", groups);
  return text + ",";
}

std::string layer_label(const Json& result) {
  std::string text = fmt::format("{}{} batch {}", result.at("layer").get<std::string>(),
                                 conv_text(result), result.at("batch").get<int64_t>());
  const bool is_conv = text_or(result, "kind", "linear") != "linear";
  const std::string layout = text_or(result, "layout", is_conv ? "nchw" : "feature-major");
  if (layout != (is_conv ? "nchw" : "feature-major")) text += ", " + layout;
  if (!is_conv && text_or(result, "pitch", "recommended") == "tight") text += ", tight pitch";
  if (result.value("bias", false)) text += ", bias";
  if (!result.value("dx", true)) text += ", no dx";
  if (text_or(result, "dense_algorithms", "fastest") == "direct") text += ", dense direct";
  const int64_t seed = result.value("seed", int64_t{1});
  if (seed != 1) text += fmt::format(", seed {}", seed);
  return text;
}

ReportLine read_line(const Json& result) {
  ReportLine line;
  line.layer = layer_label(result);
  line.mask = text_or(result, "mask", "");
  line.sparsity = result.at("sparsity").get<double>();
  line.threads = result.at("threads").get<int>();
  line.pass = result.at("pass").get<std::string>();
  line.engine = result.at("engine").get<std::string>();
  line.state = result.at("state").get<std::string>();
  line.median_ms = result.at("median_ms").get<double>();
  line.quartile1_ms = result.value("quartile1_ms", line.median_ms);
  line.quartile3_ms = result.value("quartile3_ms", line.median_ms);
  line.chosen = result.value("chosen", false);
  if (line.median_ms > 0 && line.sparsity >= 0 && line.sparsity <= 1) return line;
  throw_error("{} has {} ms at sparsity {}, expected a positive time and a sparsity of 0 to 1",
              describe(line), line.median_ms, line.sparsity);
}

}  // namespace

std::string describe_workload(const ReportLine& line) {
  return fmt::format("{}{}{}, sparsity {:.6g}, {} thread{}", line.layer,
                     line.mask.empty() ? "" : ", mask ", line.mask, line.sparsity, line.threads,
                     line.threads == 1 ? "" : "s");
}

std::string describe(const ReportLine& line) {
  return fmt::format("{}, {}, {}", describe_workload(line), line.state, line.engine);
}

std::string line_key(const ReportLine& line) { return describe(line) + ", " + line.pass; }

std::vector<ReportLine> report_lines(const Json& report) {
  std::vector<ReportLine> lines;
  for (const Json& result : report.at("results")) lines.push_back(read_line(result));
  return lines;
}

Json load_report(const std::string& path, std::string_view option) {
  std::ifstream file(path);
  if (!file) throw_error("{}: cannot read \"{}\", expected a file that --json wrote", option, path);
  try {
    Json report = Json::parse(file);
    report_lines(report);
    return report;
  } catch (const std::exception& error) {  // of the parser, of a field, of a value
    throw_error("{}: \"{}\" is no report of bench ({}), expected a file that --json wrote", option,
                path, error.what());
  }
}

}  // namespace sparsejit::frontend
