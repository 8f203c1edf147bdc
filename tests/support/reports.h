// Reports of `bench` made by hand, in the form of its JSON, for tests of what is made from them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sparsejit::test {

// One result of a linear layer 64x32, batch 8, hot, one thread, with quartiles 1% around the
// median.
inline nlohmann::ordered_json result_of(const std::string& engine, double sparsity,
                                        double median_ms) {
  return {{"layer", "64x32"},
          {"batch", 8},
          {"sparsity", sparsity},
          {"threads", 1},
          {"pass", "total"},
          {"engine", engine},
          {"state", "hot"},
          {"median_ms", median_ms},
          {"quartile1_ms", 0.99 * median_ms},
          {"quartile3_ms", 1.01 * median_ms},
          {"chosen", engine == "native"}};
}

inline nlohmann::ordered_json report_of(std::initializer_list<nlohmann::ordered_json> results) {
  nlohmann::ordered_json report = {{"machine",
                                    {{"cpu", "Test CPU"},
                                     {"l2_bytes", 1048576},
                                     {"fma_peak_gflops", 100.0},
                                     {"dense_library", "OpenBLAS 0"},
                                     {"dense_conv_library", "oneDNN 0"}}},
                                   {"results", nlohmann::ordered_json::array()}};
  for (const nlohmann::ordered_json& result : results) report["results"].push_back(result);
  return report;
}

}  // namespace sparsejit::test
