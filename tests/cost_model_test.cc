// The cost model is rough; what it must get right is which candidate wins by much, and the
// arithmetic.
#include "cost_model.h"

#include <gtest/gtest.h>

#include "support/plans.h"

namespace sparsejit::test {
namespace {

struct Costs {
  PassCost native;
  PassCost interpreted;
};

Costs predict(const Mask& mask, int64_t floats, int64_t slabs = 1) {
  const MachineModel machine = made_up_machine();
  const TapTable table = lower_linear(mask);
  KernelRequest request = make_request(KernelKind::accumulate, floats);
  const Plan native = plan_kernel(table, request, machine);
  request.interpreted = true;
  const Plan interpreted = plan_kernel(table, request, machine);
  const auto work = [&](const Plan& plan) {
    return PassWork{
        .plans = {&plan, 1}, .floats = floats * slabs, .slabs = slabs, .longest_slab = floats};
  };
  return {predict_native(work(native), machine), predict_interpreted(work(interpreted), machine)};
}

TEST(CostModel, LongStreamsPayForTheirCode) {
  const Costs costs = predict(Mask::random({1000, 1000}, 0.9, 1), 1000);
  EXPECT_LT(costs.native.call, costs.interpreted.call);
  EXPECT_GT(break_even_calls(costs.native, costs.interpreted), 0);
}

TEST(CostModel, MuchCodeForShortStreamsDoesNotPay) {
  const Costs costs = predict(Mask::random({3072, 768}, 0.8, 1), 16);
  EXPECT_GT(costs.native.call, costs.interpreted.call);
  EXPECT_EQ(break_even_calls(costs.native, costs.interpreted), 0) << "never";
}

TEST(CostModel, LittleCodePaysForShortStreamsToo) {
  const Costs costs = predict(Mask::random({64, 64}, 0.9, 1), 16);
  EXPECT_LT(costs.native.call, costs.interpreted.call);
}

TEST(CostModel, CodeThatIsWalkedThroughMoreOftenCostsMore) {
  const Mask mask = Mask::random({3072, 768}, 0.8, 1);
  EXPECT_GT(predict(mask, 8, 8).native.call, 2 * predict(mask, 64, 1).native.call);
}

// Tiles pay while a row has several taps in a block, and more where others would pack.
TEST(CostModel, TilesPayForManyTapsARow) {
  const MachineModel machine = made_up_machine();
  const auto seconds = [&](double sparsity, bool tiled, int64_t packed, int64_t copied) {
    KernelRequest request = make_request(KernelKind::accumulate, 904);
    request.tiled = tiled;
    const TapTable table = lower_linear(Mask::random({3072, 768}, sparsity, 1));
    const Plan plan = plan_kernel(table, request, machine);
    return predict_native({.plans = {&plan, 1},
                           .floats = 904,
                           .longest_slab = 904,
                           .packed_streams = packed,
                           .copied_streams = copied},
                          machine)
        .call;
  };
  EXPECT_LT(seconds(0.8, true, 0, 768), seconds(0.8, false, 0, 0));
  EXPECT_GT(seconds(0.99, true, 0, 768), seconds(0.99, false, 0, 0));
  EXPECT_LT(seconds(0.95, true, 0, 3840), seconds(0.95, false, 3840, 0));
}

TEST(CostModel, BreaksEvenWhenTheSavingsHavePaidForCompiling) {
  EXPECT_DOUBLE_EQ(break_even_calls({.call = 2, .compile = 30}, {.call = 5, .compile = 0}), 10);
  EXPECT_DOUBLE_EQ(break_even_calls({.call = 5, .compile = 30}, {.call = 5, .compile = 0}), 0);
}

}  // namespace
}  // namespace sparsejit::test
