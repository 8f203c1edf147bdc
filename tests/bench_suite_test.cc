// The layer lists of `bench --suite`, held against published numbers of the networks, and the sums
// over them.
#include <gtest/gtest.h>

#include "bench/network_totals.h"
#include "bench/suite.h"

namespace sparsejit::test {
namespace {

using namespace frontend;

int64_t convolutions(const std::vector<Workload>& layers) {
  int64_t count = 0;
  for (const Workload& layer : layers) count += layer.conv ? layer.occurrences : 0;
  return count;
}

int64_t weights(const std::vector<Workload>& layers) {
  int64_t count = 0;
  for (const Workload& layer : layers) {
    count += layer.occurrences * weight_shape(layer).rows() * weight_shape(layer).cols();
  }
  return count;
}

double giga_products(const std::vector<Workload>& layers) {
  double products = 0;
  for (const Workload& layer : layers) {
    const MaskShape shape = weight_shape(layer);
    products += static_cast<double>(layer.occurrences * shape.rows() * shape.cols()) *
                products_per_weight(layer);
  }
  return products * 1e-9;
}

// torchvision: 25,557,032 parameters, of them 53,120 of batch norms and 1,000 biases.
TEST(SuiteLayers, ResNet50HasThePublishedLayersWeightsAndProducts) {
  const std::vector<Workload> layers = list_network(Suite::resnet50, 1, 0.95);
  EXPECT_EQ(convolutions(layers), 53);
  EXPECT_EQ(weights(layers), 25'502'912);
  EXPECT_NEAR(giga_products(layers), 4.09, 0.005);  // v1.5; v1 has 3.8
}

// torchvision: 11,689,512 parameters, of them 9,600 of batch norms and 1,000 biases.
TEST(SuiteLayers, ResNet18HasThePublishedLayersWeightsAndProducts) {
  const std::vector<Workload> layers = list_network(Suite::resnet18, 1, 0.95);
  EXPECT_EQ(convolutions(layers), 20);
  EXPECT_EQ(weights(layers), 11'678'912);
  EXPECT_NEAR(giga_products(layers), 1.81, 0.005);
}

TEST(SuiteLayers, BertHas72LayersIn12Encoders) {
  const std::vector<Workload> layers = list_network(Suite::bert, 512, 0.95);
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(weights(layers), int64_t{12} * (4 * 768 * 768 + 2 * 768 * 3072));
  for (const Workload& layer : layers) EXPECT_EQ(layer.batch, 512);
}

TEST(SuiteLayers, MlpIsTwoHiddenLayersOnSmallImages) {
  const std::vector<Workload> layers = list_network(Suite::mlp, 128, 0.95);
  EXPECT_EQ(weights(layers), int64_t{784} * 1024 + 1024 * 1024 + 1024 * 10);
  EXPECT_FALSE(layers.front().want_dx);
  EXPECT_TRUE(layers.back().want_dx);
}

TEST(SuiteLayers, SmallLayersStayInASecondLevelCache) {
  const std::vector<Workload> layers = list_workloads(small_grids());
  EXPECT_EQ(layers.size(), 36U);
  for (const Workload& layer : layers) {
    EXPECT_LE(4 * layer.batch * (layer.in + layer.out), 256 << 10) << layer_text(layer);
  }
}

TEST(SuiteLayers, AreDistinctAndOnlyTheFirstConvolutionNeedsNoDx) {
  for (const Suite suite : {Suite::resnet18, Suite::resnet50, Suite::bert}) {
    const std::vector<Workload> layers = list_network(suite, 4, 0.9);
    for (size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(layers[i].want_dx, i > 0 || suite == Suite::bert) << layer_text(layers[i]);
      for (size_t j = 0; j < i; ++j) EXPECT_NE(layer_text(layers[i]), layer_text(layers[j]));
    }
  }
}

TEST(SuiteLayers, BottlenecksHaveTheirStrideOnThe3x3) {
  for (const Workload& layer : list_network(Suite::resnet50, 1, 0.95)) {
    if (!layer.conv || layer.conv->conv.stride == PerAxis(1)) continue;
    const bool is_downsampling = layer.conv->kernel == PerAxis(1) && layer.out == 2 * layer.in;
    EXPECT_TRUE(layer.conv->kernel != PerAxis(1) || is_downsampling) << layer_text(layer);
  }
}

TEST(SuiteLayers, PaperWorkloadsCoverItsThreeLayers) {
  const std::vector<Workload> layers = list_workloads(paper_grids());
  ASSERT_EQ(layers.size(), 15U);
  EXPECT_EQ(layer_text(layers[0]), "768x3072 batch 902");
  EXPECT_EQ(layer_text(layers[5]), "128x256x3x3 on 7x7, padding 1, batch 8");
  EXPECT_EQ(layer_text(layers[10]), "128x256x3x3 on 244x244, padding 1, batch 4");
}

WorkloadResults timed(const Workload& workload, double native_ms, double dense_ms) {
  WorkloadResults group;
  group.workload = workload;
  for (const TimedPass pass : {TimedPass::forward, TimedPass::backward, TimedPass::total}) {
    const double passes = pass == TimedPass::total ? 2 : 1;
    BenchResult result;
    result.pass = pass;
    result.median_ms = passes * native_ms;
    result.chosen = true;
    group.results.push_back(result);
    result.engine = BenchEngine::dense;
    result.median_ms = passes * dense_ms;
    result.chosen = false;
    if (dense_ms > 0) group.results.push_back(result);
  }
  return group;
}

const NetworkTotal* find_total(const std::vector<NetworkTotal>& totals, bool inner_only,
                               std::optional<BenchEngine> engine) {
  for (const NetworkTotal& total : totals) {
    if (total.inner_only == inner_only && total.engine == engine) return &total;
  }
  return nullptr;
}

// Native took 1 ms a pass and was picked; the backward pass goes to dense here.
TEST(FindMedian, OfWhatWasPickedAddsUpThePickOfEachPass) {
  WorkloadResults group = timed(linear_layer(8, 8), 1, 0.25);
  for (BenchResult& result : group.results) {
    if (result.pass == TimedPass::forward) continue;
    result.chosen = result.engine == BenchEngine::dense;
  }
  const auto picked = [&](TimedPass pass) {
    return find_median(group, pass, std::nullopt, CacheState::hot);
  };
  EXPECT_EQ(picked(TimedPass::forward), 1.0);
  EXPECT_EQ(picked(TimedPass::backward), 0.25);
  EXPECT_EQ(picked(TimedPass::total), 1.25);
  EXPECT_EQ(find_median(group, TimedPass::total, BenchEngine::native, CacheState::hot), 2.0);
  EXPECT_FALSE(find_median(group, TimedPass::total, std::nullopt, CacheState::cold));
}

TEST(NetworkTotals, CountEachLayerAsOftenAsItOccurs) {
  const std::vector<Workload> layers = list_network(Suite::resnet18, 1, 0.95);
  std::vector<WorkloadResults> groups;
  for (const Workload& layer : layers) groups.push_back(timed(layer, 1, 10));
  const std::vector<NetworkTotal> totals = network_totals(groups);
  const NetworkTotal* native = find_total(totals, false, BenchEngine::native);
  const NetworkTotal* picked = find_total(totals, true, std::nullopt);
  const NetworkTotal* dense = find_total(totals, true, BenchEngine::dense);
  ASSERT_TRUE(native != nullptr && picked != nullptr && dense != nullptr);
  EXPECT_DOUBLE_EQ(native->forward_ms.value(), 21);
  EXPECT_DOUBLE_EQ(native->total_ms.value(), 42);
  EXPECT_DOUBLE_EQ(picked->total_ms.value(), 38);  // without the 7x7 and the linear layer
  EXPECT_DOUBLE_EQ(dense->backward_ms.value(), 190);
}

TEST(NetworkTotals, LeaveOutAnEngineThatMissedALayer) {
  const std::vector<Workload> layers = list_network(Suite::bert, 8, 0.95);
  const std::vector<WorkloadResults> groups = {timed(layers[0], 1, 10), timed(layers[1], 1, 0)};
  const std::vector<NetworkTotal> totals = network_totals(groups);
  EXPECT_NE(find_total(totals, false, BenchEngine::native), nullptr);
  EXPECT_EQ(find_total(totals, false, BenchEngine::dense), nullptr);
  EXPECT_EQ(find_total(totals, true, BenchEngine::native), nullptr);
}

}  // namespace
}  // namespace sparsejit::test
