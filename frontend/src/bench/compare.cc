// Pairs and verdicts; see compare.h.
#include "bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "bench/options.h"
#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

using Json = nlohmann::ordered_json;

bool moved(const ReportLine& small, const ReportLine& large, double threshold) {
  return large.median_ms > small.median_ms * (1 + threshold) &&
         large.quartile1_ms > small.quartile3_ms;
}

void sort_changes(std::vector<Change>& changes, bool slowest_first) {
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& left, const Change& right) {
    return slowest_first ? left.factor() > right.factor() : left.factor() < right.factor();
  });
}

using LinesByKey = std::unordered_map<std::string, ReportLine>;

LinesByKey by_key(const std::vector<ReportLine>& lines) {
  LinesByKey found;
  for (const ReportLine& line : lines) found.emplace(line_key(line), line);
  return found;
}

// Numbers that are measured anew in every run differ a little without a cause.
bool is_measured(const std::string& field) {
  return field == "fma_peak_gflops" || field == "l2_gbytes" || field == "memory";
}

std::vector<std::string> compare_machines(const Json& before, const Json& after) {
  constexpr double kMeasuredNoise = 0.1;
  const Json old_machine = before.value("machine", Json());
  const Json new_machine = after.value("machine", Json());
  std::vector<std::string> differences;
  for (const auto& [field, value] : new_machine.items()) {
    if (!old_machine.contains(field) || old_machine[field] == value || field == "memory") continue;
    const Json& old_value = old_machine[field];
    if (is_measured(field) && old_value.is_number() && value.is_number() &&
        std::abs(value.get<double>() / old_value.get<double>() - 1) < kMeasuredNoise) {
      continue;
    }
    differences.push_back(fmt::format("{}: {}, was {}", field, value.dump(), old_value.dump()));
  }
  return differences;
}

// Geometric means of the factors: "native 1.01x, interpreted 0.99x".
std::string means_text(const std::vector<Change>& changes) {
  if (changes.empty()) return "none compared";
  std::map<std::string, std::vector<double>> logarithms;
  for (const Change& change : changes) {
    logarithms[change.after.engine].push_back(std::log(change.factor()));
  }
  std::string text;
  for (const auto& [engine, all] : logarithms) {
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    text += fmt::format("{}{} {:.3g}x", text.empty() ? "" : ", ", engine,
                        std::exp(sum / static_cast<double>(all.size())));
  }
  return text + " the time";
}

std::string changes_text(const char* heading, const std::vector<Change>& changes) {
  if (changes.empty()) return "";
  std::string text = fmt::format("  {}\n", heading);
  for (const Change& change : changes) {
    text += fmt::format("    {:.2f}x the time, {:.4g} ms, was {:.4g} ms: {}, {}\n", change.factor(),
                        change.after.median_ms, change.before.median_ms, describe(change.after),
                        change.after.pass);
  }
  return text;
}

// "hot, cold": each word once.
class WordList {
 public:
  void add(const std::string& word) {
    if (std::find(words_.begin(), words_.end(), word) == words_.end()) words_.push_back(word);
  }
  std::string text() const { return fmt::format("{}", fmt::join(words_, ", ")); }

 private:
  std::vector<std::string> words_;
};

// Lines of one workload, in short.
struct WorkloadLines {
  std::string workload;
  int lines = 0;
  WordList states;
  WordList engines;
  WordList passes;
};

std::vector<WorkloadLines> group_by_workload(const std::vector<ReportLine>& lines) {
  std::vector<WorkloadLines> groups;
  for (const ReportLine& line : lines) {
    const std::string workload = describe_workload(line);
    if (groups.empty() || groups.back().workload != workload) {
      groups.emplace_back().workload = workload;
    }
    WorkloadLines& group = groups.back();
    ++group.lines;
    group.states.add(line.state);
    group.engines.add(line.engine);
    group.passes.add(line.pass);
  }
  return groups;
}

std::string partnerless_text(const char* heading, const std::vector<ReportLine>& lines) {
  if (lines.empty()) return "";
  std::string text = fmt::format("  {}\n", heading);
  for (const WorkloadLines& group : group_by_workload(lines)) {
    text += fmt::format("    {}: {} line{} ({}; {}; {})\n", group.workload, group.lines,
                        group.lines == 1 ? "" : "s", group.states.text(), group.engines.text(),
                        group.passes.text());
  }
  return text;
}

}  // namespace

Comparison compare_reports(const Json& before, const Json& after, double threshold) {
  Comparison comparison;
  comparison.threshold = threshold;
  comparison.machine = compare_machines(before, after);
  const std::vector<ReportLine> old_lines = report_lines(before);
  const std::vector<ReportLine> new_lines = report_lines(after);
  const LinesByKey partners = by_key(old_lines);
  for (const ReportLine& line : new_lines) {
    const auto partner = partners.find(line_key(line));
    if (partner == partners.end()) {
      comparison.only_after.push_back(line);
      continue;
    }
    const Change change{partner->second, line};
    if (!is_library(line.engine)) {
      comparison.baselines.push_back(change);
      continue;
    }
    comparison.library.push_back(change);
    if (moved(change.before, change.after, threshold)) comparison.slower.push_back(change);
    if (moved(change.after, change.before, threshold)) comparison.faster.push_back(change);
  }
  const LinesByKey measured_again = by_key(new_lines);
  for (const ReportLine& line : old_lines) {
    if (!measured_again.contains(line_key(line))) comparison.only_before.push_back(line);
  }
  sort_changes(comparison.slower, true);
  sort_changes(comparison.faster, false);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = "\nComparison\n";
  for (const std::string& difference : comparison.machine) {
    text += fmt::format("  another machine: {}\n", difference);
  }
  text += fmt::format("  library's engines: {}\n", means_text(comparison.library));
  text += fmt::format("  baselines: {}\n", means_text(comparison.baselines));
  text += changes_text("slower:", comparison.slower);
  text += changes_text("faster:", comparison.faster);
  text += partnerless_text("only in the old report:", comparison.only_before);
  text += partnerless_text("only in the new report:", comparison.only_after);
  return text + fmt::format("  {} of {} lines slower by more than {:.3g}%, {} faster\n",
                            comparison.slower.size(), comparison.library.size(),
                            100 * comparison.threshold, comparison.faster.size());
}

}  // namespace sparsejit::frontend
