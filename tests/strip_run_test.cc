// Strips (strips.h), and kernels of the strip family run directly, without the runtime: operands
// packed float by float as strips.h lays them out, everything between guard pages, against the
// naive reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "sparsejit/emit.h"
#include "sparsejit/error.h"
#include "sparsejit/strips.h"
#include "support/executable.h"
#include "support/guarded_buffer.h"
#include "support/plans.h"
#include "support/random.h"
#include "support/reference.h"

namespace sparsejit::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(StripCut, CoversAStreamInStripsOfAboutOneLength) {
  for (const int64_t longest : {64, 128}) {
    for (int64_t length = 1; length < 2100; ++length) {
      const StripCut cut(length, longest);
      int64_t covered = 0;
      int64_t shortest = longest;
      int64_t largest = 0;
      for (int64_t i = 0; i < cut.count(); ++i) {
        ASSERT_EQ(cut.begin(i), covered);
        ASSERT_EQ(cut.floats(i) % kStripUnit, 0);
        ASSERT_GT(cut.valid(i), 0);
        ASSERT_EQ(cut.valid(i), std::min(cut.floats(i), length - covered));
        covered += cut.floats(i);
        shortest = std::min(shortest, cut.floats(i));
        largest = std::max(largest, cut.floats(i));
      }
      ASSERT_GE(covered, length);
      ASSERT_LT(covered - length, kStripUnit);
      ASSERT_LE(largest, longest);
      ASSERT_LE(largest - shortest, kStripUnit);
    }
  }
}

TEST(StripPosition, TakesVectorsOfBothPiecesInTurn) {
  for (const int64_t floats : {32, 64, 96, 128}) {
    std::set<int64_t> seen;
    for (int64_t t = 0; t < floats; ++t) {
      const int64_t at = strip_position(t, floats);
      EXPECT_TRUE(at >= 0 && at < floats && seen.insert(at).second);
      EXPECT_EQ(at % 16 / 8, t / (floats / 2)) << "the half of a vector of 16 is the piece";
      if (t % 8 == 0) continue;
      EXPECT_EQ(at, strip_position(t - 1, floats) + 1);
    }
  }
}

KernelRequest make_strip_request(int64_t length, KernelKind kind = KernelKind::fused) {
  KernelRequest request = make_request(kind, length);
  request.strips = true;
  return request;
}

struct StripCase {
  const Mask& mask;
  int64_t length = 0;
  int64_t l1_bytes = 32 << 10;
  int cores = 2;
  KernelKind kind = KernelKind::fused;
  Edge edge = Edge::end;
};

class StripRun {
 public:
  explicit StripRun(const StripCase& wanted)
      : case_(wanted), table_(transpose(lower_linear(wanted.mask))) {
    MachineModel machine = with_avx512(made_up_machine());
    machine.l1_bytes = wanted.l1_bytes;
    machine.cores = wanted.cores;
    plan_ = plan_kernel(table_, make_strip_request(wanted.length, wanted.kind), machine);
    EmitResult result = emit_kernel(table_, plan_);
    if (!result.code) throw std::runtime_error(result.reason);
    code_ = std::move(*result.code);
    in_.x = random_floats(wanted.length * wanted.mask.cols(), 1);
    in_.dy = random_floats(wanted.length * wanted.mask.rows(), 2);
    in_.values = random_floats(wanted.mask.nnz(), 3);
    in_.bias = random_floats(wanted.mask.rows(), 4);
    order_ = packed_order(table_, plan_);
    for (const int32_t value : order_) ordered_.push_back(in_.values[value]);
  }

  const Plan& plan() const { return plan_; }
  const KernelCode& code() const { return code_; }
  LayerReference reference() const { return reference_layer(case_.mask, case_.length, in_); }
  const std::vector<float>& dx() const { return dx_; }
  const std::vector<float>& d_values() const { return d_values_; }

  void run() {
    const ExecutableCode code(code_);
    dx_.assign(static_cast<size_t>(case_.length * table_.rows()), kNaN);
    GuardedBuffer sums(std::ssize(ordered_), case_.edge);
    sums.fill(0.0F);
    const StripCut cut(case_.length, plan_.panel);
    for (int64_t i = 0; i < cut.count(); ++i) run_strip(code, cut, i, sums);
    EXPECT_TRUE(sums.canary_intact());
    d_values_.resize(ordered_.size());
    for (size_t i = 0; i < ordered_.size(); ++i) {
      d_values_[static_cast<size_t>(order_[i])] = sums.data()[i];
    }
  }

 private:
  void run_strip(const ExecutableCode& code, const StripCut& cut, int64_t strip,
                 GuardedBuffer& sums) {
    const GuardedBuffer x = read_only(packed(in_.x, 0, table_.rows(), cut, strip));
    const GuardedBuffer values = read_only(ordered_);
    const bool fused = case_.kind == KernelKind::fused;
    GuardedBuffer own(fused ? table_.rows() * plan_.panel : 0, case_.edge);
    own.fill(0.0F);
    for (int32_t block = 0; block < plan_.blocks; ++block) {
      const int64_t first = block * plan_.block_streams;
      const int64_t last = std::min(table_.streams, first + plan_.block_streams);
      const GuardedBuffer dy = read_only(packed(in_.dy, first, last, cut, strip));
      for (int32_t part = 0; part < plan_.parts(); ++part) {
        const size_t chunk = static_cast<size_t>(block) * plan_.parts() + part;
        const int64_t base = plan_.chunks[chunk].value_base;
        const KernelArguments arguments{.gathered = dy.data(),
                                        .own = own.data(),
                                        .paired = x.data(),
                                        .values = values.data() + base,
                                        .start_or_d_values = sums.data() + base,
                                        .loop_bytes = cut.floats(strip) * 4};
        code.chunk(chunk)(&arguments);
      }
    }
    EXPECT_TRUE(own.canary_intact());
    if (!fused) return;
    for (int64_t row = 0; row < table_.rows(); ++row) {
      for (int64_t t = 0; t < cut.valid(strip); ++t) {
        dx_[static_cast<size_t>((cut.begin(strip) + t) * table_.rows() + row)] =
            own.data()[row * plan_.panel + strip_position(t, cut.floats(strip))];
      }
    }
  }

  // Streams [first, last) of a row-major tensor; what lies between strips is NaN.
  std::vector<float> packed(const std::vector<float>& tensor, int64_t first, int64_t last,
                            const StripCut& cut, int64_t strip) const {
    const int64_t streams = std::ssize(tensor) / case_.length;
    std::vector<float> strips(static_cast<size_t>((last - first) * plan_.panel), kNaN);
    for (int64_t s = first; s < last; ++s) {
      for (int64_t t = 0; t < cut.floats(strip); ++t) {
        const int64_t at = cut.begin(strip) + t;
        strips[static_cast<size_t>((s - first) * plan_.panel +
                                   strip_position(t, cut.floats(strip)))] =
            t < cut.valid(strip) ? tensor[static_cast<size_t>(at * streams + s)] : 0.0F;
      }
    }
    return strips;
  }

  GuardedBuffer read_only(const std::vector<float>& contents) const {
    GuardedBuffer buffer(std::ssize(contents), case_.edge);
    std::copy(contents.begin(), contents.end(), buffer.data());
    buffer.make_read_only();
    return buffer;
  }

  const StripCase case_;
  TapTable table_;
  Plan plan_;
  KernelCode code_;
  LayerInputs in_;
  std::vector<int32_t> order_;
  std::vector<float> ordered_;  // values
  std::vector<float> dx_;
  std::vector<float> d_values_;
};

class Strips : public ::testing::TestWithParam<Edge> {
 protected:
  void SetUp() override {
    if (!can_run_code_for(with_avx512(made_up_machine()))) {
      GTEST_SKIP() << "this machine has no AVX-512";
    }
  }
};

// Blocks of eight streams where L1 is small, one block where it is large.
TEST_P(Strips, MatchTheReference) {
  for (const Mask& mask : assorted_masks()) {
    for (const int64_t length : {8, 32, 33, 64, 70, 96, 127, 300}) {
      for (const int64_t l1_bytes : {int64_t{2} << 10, int64_t{1} << 20}) {
        SCOPED_TRACE(fmt::format("{} floats, {}x{} mask, L1 {}", length, mask.rows(), mask.cols(),
                                 l1_bytes));
        StripRun run({.mask = mask, .length = length, .l1_bytes = l1_bytes, .edge = GetParam()});
        run.run();
        const LayerReference expected = run.reference();
        expect_near(run.dx(), expected.dx, "dx");
        expect_near(run.d_values(), expected.d_values, "d_values");
      }
    }
  }
}

// Every size of a group, and rows of several groups.
TEST_P(Strips, TakeAnyNumberOfTaps) {
  std::vector<uint8_t> dense(size_t{60} * 60, 0);
  for (size_t column = 0; column < 60; ++column) {
    for (size_t row = 0; row < column; ++row) dense[row * 60 + column] = 1;
  }
  const Mask mask = Mask::from_dense(dense, {60, 60});
  StripRun run({.mask = mask, .length = 90, .l1_bytes = 1 << 20, .edge = GetParam()});
  EXPECT_EQ(run.plan().blocks, 1);
  run.run();
  const LayerReference expected = run.reference();
  expect_near(run.dx(), expected.dx, "dx");
  expect_near(run.d_values(), expected.d_values, "d_values");
}

TEST_P(Strips, ProductsMakeTheBitsOfFusedKernels) {
  for (const Mask& mask : assorted_masks()) {
    for (const int64_t length : {33, 300}) {
      StripCase wanted{.mask = mask, .length = length, .l1_bytes = 4 << 10, .edge = GetParam()};
      StripRun fused(wanted);
      fused.run();
      wanted.kind = KernelKind::products;
      StripRun products(wanted);
      products.run();
      expect_same_bits(products.d_values(), fused.d_values(), "d_values");
    }
  }
}

// However blocks and parts are cut, each sum has one order. (The mask is so full that all plans
// have strips of one length.)
TEST_P(Strips, BlocksAndPartsDoNotChangeABit) {
  const Mask mask = Mask::random({60, 60}, 0.02, 6);
  StripCase wanted{.mask = mask, .length = 902, .l1_bytes = 1 << 20, .cores = 1};
  StripRun whole(wanted);
  whole.run();
  EXPECT_EQ(whole.plan().chunks.size(), 1U);
  for (const int64_t l1_bytes : {12, 16}) {
    wanted.l1_bytes = l1_bytes << 10;
    wanted.cores = 5;
    wanted.edge = GetParam();
    StripRun cut(wanted);
    EXPECT_GT(cut.plan().blocks, 1);
    EXPECT_GT(cut.plan().parts(), 1);
    ASSERT_EQ(cut.plan().panel, whole.plan().panel);
    cut.run();
    expect_same_bits(cut.dx(), whole.dx(), "dx");
    expect_same_bits(cut.d_values(), whole.d_values(), "d_values");
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, Strips, ::testing::Values(Edge::end, Edge::start),
                         [](const auto& edge) {
                           return edge.param == Edge::end ? "FlushToTheEnd" : "FlushToTheStart";
                         });

TEST(StripPlan, ServesEveryLengthAndPitch) {
  const MachineModel machine = with_avx512(made_up_machine());
  KernelRequest other = make_strip_request(902);
  other.pitches = {.gathered = 912, .own = 912, .paired = 920};
  other.repeated = true;
  EXPECT_EQ(canonical_request(make_strip_request(70), machine), canonical_request(other, machine));
}

TEST(StripPlan, BlocksFollowL1) {
  const TapTable table = transpose(lower_linear(Mask::random({3072, 768}, 0.9, 1)));
  MachineModel machine = with_avx512(made_up_machine());
  const Plan small = plan_kernel(table, make_strip_request(902), machine);
  EXPECT_LE(small.block_streams * small.panel * 4, machine.l1_bytes * 3 / 4);
  EXPECT_GT(small.block_streams * small.panel * 4, machine.l1_bytes / 2);
  machine.l1_bytes *= 2;
  EXPECT_GT(plan_kernel(table, make_strip_request(902), machine).block_streams,
            small.block_streams);
}

TEST(StripPlan, EstimatesItsCode) {
  for (const KernelKind kind : {KernelKind::fused, KernelKind::products}) {
    for (const double sparsity : {0.3, 0.8, 0.95}) {
      const Mask mask = Mask::random({512, 256}, sparsity, 2);
      const StripRun run({.mask = mask, .length = 256, .kind = kind});
      const auto bytes = static_cast<double>(run.code().bytes.size());
      EXPECT_NEAR(static_cast<double>(run.plan().code_bytes_estimate) / bytes, 1, 0.1);
    }
  }
}

TEST(StripPlan, SumsWithoutShiftsOnly) {
  TapTable table = transpose(lower_linear(Mask::random({8, 8}, 0.5, 1)));
  const MachineModel machine = with_avx512(made_up_machine());
  EXPECT_NO_THROW(plan_kernel(table, make_strip_request(70), machine));
  KernelRequest forward = make_strip_request(70);
  forward.kind = KernelKind::accumulate;
  EXPECT_THROW(plan_kernel(table, forward, machine), InternalError);
  table.taps.back().shift = 1;
  EXPECT_THROW(plan_kernel(table, make_strip_request(70), machine), InternalError);
}

// 768 -> 3072 at 90%, batch 902, and what would have to change.
TEST(StripPlan, GainsWhereStripsInL1AreUsedOften) {
  const MachineModel machine = with_avx512(made_up_machine());
  const StripWork work{.taps = 235'930, .rows = 768, .streams = 3072, .floats = 902};
  EXPECT_TRUE(gains_by_strips(work, machine));
  EXPECT_FALSE(gains_by_strips(work, made_up_machine())) << "no AVX-512";
  const auto without = [&](auto change) {
    StripWork other = work;
    change(other);
    return gains_by_strips(other, machine);
  };
  EXPECT_FALSE(without([](StripWork& w) { w.taps /= 10; }));
  EXPECT_FALSE(without([](StripWork& w) { w.floats = 64; })) << "tables serve these";
  EXPECT_FALSE(without([](StripWork& w) { w.streams *= 9; })) << "packed for few taps each";
  EXPECT_FALSE(without([](StripWork& w) { w.rows *= 10; })) << "few taps a row and block";
  EXPECT_FALSE(gains_by_strips({.floats = 902}, machine)) << "no weights";
}

}  // namespace
}  // namespace sparsejit::test
