// The cost model is rough; what it must get right is which engine wins by much, and the arithmetic.
#include "cost_model.h"

#include <gtest/gtest.h>

#include "support/plans.h"

namespace sparsejit::test {
namespace {

PassCost predict(const Mask& mask, int64_t floats, int64_t rounds = 1) {
  const Plan plan = plan_kernel(lower_linear(mask), make_request(KernelKind::accumulate, floats),
                                made_up_machine());
  return predict_cost({&plan, 1}, floats, rounds, made_up_machine());
}

TEST(CostModel, LongStreamsPayForTheirCode) {
  const PassCost cost = predict(Mask::random({1000, 1000}, 0.9, 1), 1000);
  EXPECT_LT(cost.native, cost.interpreted);
  EXPECT_GT(cost.break_even_calls(), 0);
}

TEST(CostModel, MuchCodeForShortStreamsDoesNotPay) {
  const PassCost cost = predict(Mask::random({3072, 768}, 0.8, 1), 16);
  EXPECT_GT(cost.native, cost.interpreted);
  EXPECT_EQ(cost.break_even_calls(), 0) << "never";
}

TEST(CostModel, LittleCodePaysForShortStreamsToo) {
  const PassCost cost = predict(Mask::random({64, 64}, 0.9, 1), 16);
  EXPECT_LT(cost.native, cost.interpreted);
}

TEST(CostModel, CodeThatIsWalkedThroughMoreOftenCostsMore) {
  const Mask mask = Mask::random({3072, 768}, 0.8, 1);
  EXPECT_GT(predict(mask, 64, 8).native, 2 * predict(mask, 64, 1).native);
}

TEST(CostModel, BreaksEvenWhenTheSavingsHavePaidForCompiling) {
  EXPECT_DOUBLE_EQ((PassCost{.native = 2, .interpreted = 5, .compile = 30}).break_even_calls(), 10);
  EXPECT_DOUBLE_EQ((PassCost{.native = 5, .interpreted = 5, .compile = 30}).break_even_calls(), 0);
}

}  // namespace
}  // namespace sparsejit::test
