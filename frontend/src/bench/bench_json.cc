// Results to JSON; see bench_json.h.
#include "bench/bench_json.h"

#include <nlohmann/json.hpp>

#include "bench/crossover.h"
#include "bench/network_totals.h"
#include "bench/roofline.h"
#include "conv_arguments.h"

namespace sparsejit::frontend {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const BenchMachine& machine) {
  Json peaks = Json::array();
  for (const MemoryPeak& peak : machine.memory) {
    peaks.push_back({{"threads", peak.threads}, {"gbytes", peak.gbytes}});
  }
  return peaks;
}

Json machine_json(const BenchMachine& machine) {
  return {{"cpu", machine.model.cpu},
          {"isa", machine.model.isa.name},
          {"unrolled_isa", machine.model.unrolled_isa.name},
          {"avx2_fma", machine.model.avx2_fma},
          {"avx512", machine.model.avx512},
          {"l1_bytes", machine.model.l1_bytes},
          {"l2_bytes", machine.model.l2_bytes},
          {"l3_bytes", machine.model.l3_bytes},
          {"cores", machine.model.cores},
          {"dense_library", machine.dense_library},
          {"dense_conv_library", machine.dense_conv_library},
          {"mkl", machine.mkl},
          {"fma_peak_gflops", machine.fma_peak_gflops},
          {"l2_gbytes", machine.l2_gbytes},
          {"memory", memory_json(machine)}};
}

Json group_json(const WorkloadResults& group) {
  Json json = {{"layer", layer_name(group.workload)},
               {"batch", group.workload.batch},
               {"sparsity", group.workload.sparsity},
               {"nnz", group.nnz},
               {"threads", group.threads}};
  if (!group.workload.mask_name.empty()) json["mask"] = group.workload.mask_name;
  if (!group.workload.conv) return json;
  const ConvGeometry& geometry = *group.workload.conv;
  json["image"] = to_text(geometry.image);
  json["stride"] = to_text(geometry.conv.stride);
  json["padding"] = to_text(geometry.conv.padding);
  json["dilation"] = to_text(geometry.conv.dilation);
  json["groups"] = geometry.conv.groups;
  return json;
}

Json optional_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json ratio_json(const BenchResult* slower, const BenchResult& faster) {
  const bool known = slower != nullptr && faster.median_ms > 0;
  return known ? Json(slower->median_ms / faster.median_ms) : Json(nullptr);
}

// What follows from the result together with others of its group and the machine's peaks.
void add_derived(const WorkloadResults& group, const BenchResult& result,
                 const BenchMachine& machine, Json& json) {
  const RooflineShares shares = roofline_shares(group, result, machine);
  json["fma_share"] = optional_json(shares.fma);
  json["l2_share"] = optional_json(shares.l2);
  json["memory_share"] = optional_json(shares.memory);
  const auto find = [&](BenchEngine engine) {
    return find_result(group, result.pass, engine, result.state);
  };
  const BenchResult* interpreted = find(BenchEngine::interpreted);
  json["x_dense"] = ratio_json(find_dense(group, result.pass, result.state), result);
  json["x_paper_loop"] = ratio_json(find(BenchEngine::paper_loop), result);
  json["x_interpreted"] = ratio_json(interpreted, result);
  const bool compiled = result.engine == BenchEngine::native && interpreted != nullptr;
  json["break_even_calls"] =
      compiled ? optional_json(break_even_calls(result, *interpreted)) : Json(nullptr);
}

Json result_json(const WorkloadResults& group, const BenchResult& result,
                 const BenchMachine& machine) {
  Json json = group_json(group);
  json["pass"] = to_text(result.pass);
  json["engine"] = to_text(result.engine);
  json["state"] = to_text(result.state);
  json["median_ms"] = result.median_ms;
  json["gflops"] = result.gflops;
  json["chosen"] = result.chosen;
  json["code_bytes"] = result.code_bytes;
  json["compile_ms"] = result.compile_ms;
  json["max_rel_error"] = result.max_rel_error;
  json["layout"] = layout_name(group.workload, group.workload.layout);
  json["pitch"] = group.workload.tight_pitch || group.workload.conv ? "tight" : "recommended";
  json["ran_on"] = result.ran_on;
  json["bias"] = group.workload.bias;
  json["dx"] = group.workload.want_dx;
  json["samples"] = result.samples;
  json["quartile1_ms"] = result.quartile1_ms;
  json["quartile3_ms"] = result.quartile3_ms;
  json["kind"] = group.workload.conv ? "conv2d" : "linear";
  json["occurrences"] = group.workload.occurrences;
  json["seed"] = group.workload.seed;
  json["dense_algorithms"] = group.workload.dense_direct ? "direct" : "fastest";
  add_derived(group, result, machine, json);
  return json;
}

Json network_json(Suite network, std::span<const WorkloadResults> groups) {
  Json totals = Json::array();
  for (const NetworkTotal& total : network_totals(groups)) {
    totals.push_back({{"threads", total.threads},
                      {"state", to_text(total.state)},
                      {"layers", total.inner_only ? "3x3 and 1x1" : "all"},
                      {"engine", engine_text(total)},
                      {"forward_ms", optional_json(total.forward_ms)},
                      {"backward_ms", optional_json(total.backward_ms)},
                      {"total_ms", optional_json(total.total_ms)}});
  }
  return {{"suite", to_text(network)}, {"totals", totals}};
}

}  // namespace

Json make_report(const BenchMachine& machine, std::span<const WorkloadResults> groups,
                 std::optional<Suite> network) {
  Json json;
  json["machine"] = machine_json(machine);
  json["results"] = Json::array();
  json["skipped"] = Json::array();
  for (const WorkloadResults& group : groups) {
    for (const BenchResult& result : group.results) {
      json["results"].push_back(result_json(group, result, machine));
    }
    for (const SkippedEngine& skipped : group.skipped) {
      Json entry = group_json(group);
      entry["engine"] = to_text(skipped.engine);
      entry["reason"] = skipped.reason;
      json["skipped"].push_back(entry);
    }
  }
  if (network) json["network"] = network_json(*network, groups);
  json["crossovers"] = crossovers_json(report_crossovers(report_lines(json)));
  return json;
}

}  // namespace sparsejit::frontend
