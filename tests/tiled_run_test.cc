// Tiled kernels run directly, without the runtime: sources packed in tiles as emit.h lays them out,
// everything between guard pages, against the naive reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "sparsejit/emit.h"
#include "support/executable.h"
#include "support/guarded_buffer.h"
#include "support/plans.h"
#include "support/random.h"
#include "support/reference.h"

namespace sparsejit::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct TiledCase {
  const Mask& mask;
  Pass side = Pass::forward;
  int64_t length = 0;
  bool relu = false;
  bool own_in_tiles = false;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  Edge edge = Edge::end;
  bool avx512 = false;
};

class TiledRun {
 public:
  explicit TiledRun(const TiledCase& wanted)
      : case_(wanted), table_(KernelCase{wanted.side, {}}.table(wanted.mask)) {
    KernelRequest request = make_tiled_request(wanted.length);
    request.relu = wanted.relu;
    request.own_in_tiles = wanted.own_in_tiles;
    own_pitch_ = stream_pitch(wanted.length);
    request.pitches.own = own_pitch_;
    MachineModel machine = made_up_machine(wanted.l2_bytes);
    machine.l1_bytes = wanted.l1_bytes;
    if (wanted.avx512) machine = with_avx512(machine);
    plan_ = plan_kernel(table_, request, machine);
    EmitResult result = emit_kernel(table_, plan_);
    if (!result.code) throw std::runtime_error(result.reason);
    code_ = std::move(*result.code);
    in_.x = random_floats(wanted.length * wanted.mask.cols(), 1);
    in_.dy = random_floats(wanted.length * wanted.mask.rows(), 2);
    in_.values = random_floats(wanted.mask.nnz(), 3);
    in_.bias = random_floats(wanted.mask.rows(), 4);
  }

  const Plan& plan() const { return plan_; }

  // (length, rows), row-major, as reference_layer has it.
  std::vector<float> run() {
    const ExecutableCode code(code_);
    GuardedBuffer own(own_floats(), case_.edge);
    own.fill(kNaN);
    const GuardedBuffer values = guarded(in_.values);
    const GuardedBuffer start =
        guarded(forward() ? in_.bias : std::vector<float>(static_cast<size_t>(table_.rows())));
    // Panels as the runtime cuts them: a last one of less than a vector goes to the one before.
    for (int64_t at = 0; at < case_.length;) {
      const int64_t left = case_.length - at;
      const int64_t length = left < plan_.panel + 8 ? left : plan_.panel;
      run_panel(
          code,
          {.own = own.data() + at, .values = values.data(), .start_or_d_values = start.data()}, at,
          length);
      at += length;
    }
    EXPECT_TRUE(own.canary_intact());
    return transposed(own);
  }

  const std::vector<ReferenceSum> reference() const {
    const LayerReference all = reference_layer(case_.mask, case_.length, in_);
    return forward() ? all.y : all.dx;
  }

 private:
  bool forward() const { return case_.side == Pass::forward; }
  int64_t own_floats() const {
    return table_.rows() == 0 ? 0 : (table_.rows() - 1) * own_pitch_ + case_.length;
  }

  GuardedBuffer guarded(const std::vector<float>& contents) const {
    GuardedBuffer buffer(static_cast<int64_t>(contents.size()), case_.edge);
    std::copy(contents.begin(), contents.end(), buffer.data());
    buffer.make_read_only();
    return buffer;
  }

  void run_panel(const ExecutableCode& code, KernelArguments arguments, int64_t at,
                 int64_t length) {
    const int64_t whole = length / kTileFloats;
    const bool rest = length % kTileFloats != 0;
    float* const result = arguments.own;
    float* const own = case_.own_in_tiles ? nullptr : result;
    const float* const values = arguments.values;
    for (int32_t part = 0; part < plan_.parts(); ++part) {
      GuardedBuffer partial(plan_.most_rows() * tiles_of(length) * kTileFloats, case_.edge);
      partial.fill(kNaN);
      for (int32_t block = 0; block < plan_.blocks; ++block) {
        const GuardedBuffer tiles = guarded(block_tiles(block, at, length));
        const size_t chunk = static_cast<size_t>(block) * plan_.parts() + part;
        arguments.values = values + plan_.chunks[chunk].value_base;
        arguments.gathered = tiles.data();
        arguments.own = own;
        arguments.partial = partial.data();
        arguments.loop_bytes = whole * 64;
        code.chunk(chunk)(&arguments);
        if (!rest) continue;
        arguments.gathered = tiles.data() + whole * plan_.block_streams * kTileFloats;
        if (own != nullptr) arguments.own = own + length - kTileFloats;
        arguments.partial = partial.data() + whole * plan_.most_rows() * kTileFloats;
        arguments.loop_bytes = 64;
        code.chunk(chunk)(&arguments);
      }
      if (case_.own_in_tiles) copy_part(partial, part, length, result);
    }
  }

  void copy_part(const GuardedBuffer& tiles, int32_t part, int64_t length, float* own) const {
    const int64_t first = plan_.part_begin[part];
    for (int64_t row = first; row < plan_.part_begin[part + 1]; ++row) {
      for (int64_t t = 0; t < length; ++t) {
        const int64_t tile = t / kTileFloats;
        const int64_t begin = std::min(tile * kTileFloats, length - kTileFloats);
        own[row * own_pitch_ + t] =
            tiles.data()[(tile * plan_.most_rows() + row - first) * kTileFloats + t - begin];
      }
    }
  }

  // [tile][block_streams][16]; the last one ends where the panel does. Streams that the block does
  // not have are NaN.
  std::vector<float> block_tiles(int32_t block, int64_t at, int64_t length) const {
    const std::vector<float>& from = forward() ? in_.x : in_.dy;
    std::vector<float> tiles;
    for (int64_t tile = 0; tile < tiles_of(length); ++tile) {
      const int64_t first = at + std::min(tile * kTileFloats, length - kTileFloats);
      for (int64_t s = 0; s < plan_.block_streams; ++s) {
        const int64_t stream = block * plan_.block_streams + s;
        for (int64_t t = 0; t < kTileFloats; ++t) {
          tiles.push_back(stream < table_.streams ? from[(first + t) * table_.streams + stream]
                                                  : kNaN);
        }
      }
    }
    return tiles;
  }

  std::vector<float> transposed(const GuardedBuffer& own) const {
    std::vector<float> result;
    for (int64_t t = 0; t < case_.length; ++t) {
      for (int64_t row = 0; row < table_.rows(); ++row) {
        result.push_back(own.data()[row * own_pitch_ + t]);
      }
    }
    return result;
  }

  const TiledCase case_;
  TapTable table_;
  int64_t own_pitch_ = 0;
  Plan plan_;
  KernelCode code_;
  LayerInputs in_;
};

struct TiledParameter {
  Edge edge;
  bool avx512;
};

class Tiled : public ::testing::TestWithParam<TiledParameter> {
 protected:
  void SetUp() override {
    const MachineModel machine = made_up_machine();
    if (!can_run_code_for(GetParam().avx512 ? with_avx512(machine) : machine)) {
      GTEST_SKIP() << "this machine has no " << (GetParam().avx512 ? "AVX-512" : "AVX2 and FMA");
    }
  }
};

// Blocks of 16 streams and parts of 4 rows where caches are small, one block where they are large.
TEST_P(Tiled, MatchesTheReference) {
  for (const Mask& mask : assorted_masks()) {
    for (const Pass side : {Pass::forward, Pass::backward}) {
      for (const int64_t length : {16, 17, 31, 32, 41, 263, 902, 1040}) {
        for (const int64_t cache_bytes : {int64_t{4} << 10, int64_t{1} << 20}) {
          SCOPED_TRACE(fmt::format("{} of {} floats, {}x{} mask, caches {}", to_text(side), length,
                                   mask.rows(), mask.cols(), cache_bytes));
          TiledRun run({.mask = mask,
                        .side = side,
                        .length = length,
                        .l1_bytes = cache_bytes,
                        .l2_bytes = cache_bytes,
                        .edge = GetParam().edge,
                        .avx512 = GetParam().avx512});
          expect_near(run.run(), run.reference(), "own");
        }
      }
    }
  }
}

TEST_P(Tiled, ReluFollowsTheLastBlock) {
  const Mask mask = Mask::random({50, 70}, 0.8, 5);
  for (const int64_t l1_bytes : {int64_t{4} << 10, int64_t{1} << 20}) {
    const TiledCase plain{.mask = mask,
                          .length = 41,
                          .l1_bytes = l1_bytes,
                          .edge = GetParam().edge,
                          .avx512 = GetParam().avx512};
    TiledCase relu = plain;
    relu.relu = true;
    EXPECT_EQ(TiledRun(plain).plan().blocks > 1, l1_bytes < 10'000);
    std::vector<float> expected = TiledRun(plain).run();
    for (float& y : expected) y = std::max(y, 0.0F);
    expect_same_bits(TiledRun(relu).run(), expected, "y");
  }
}

TEST_P(Tiled, ResultsMayStayInTiles) {
  const Mask mask = Mask::random({50, 70}, 0.8, 5);
  for (const int64_t l1_bytes : {int64_t{4} << 10, int64_t{1} << 20}) {
    for (const bool relu : {false, true}) {
      TiledCase wanted{.mask = mask,
                       .length = 41,
                       .relu = relu,
                       .l1_bytes = l1_bytes,
                       .edge = GetParam().edge,
                       .avx512 = GetParam().avx512};
      const std::vector<float> expected = TiledRun(wanted).run();
      wanted.own_in_tiles = true;
      expect_same_bits(TiledRun(wanted).run(), expected, "y");
    }
  }
}

// However rows are grouped and blocks are cut, each sum has one order.
TEST_P(Tiled, BlocksDoNotChangeABit) {
  const Mask mask = Mask::random({90, 200}, 0.7, 6);
  TiledCase wanted{.mask = mask,
                   .length = 902,
                   .l1_bytes = 1 << 20,
                   .edge = GetParam().edge,
                   .avx512 = GetParam().avx512};
  const std::vector<float> whole = TiledRun(wanted).run();
  for (const int64_t l1_bytes : {4, 8, 16, 32}) {
    wanted.l1_bytes = l1_bytes << 10;
    TiledRun run(wanted);
    EXPECT_GT(run.plan().blocks, 1);
    expect_same_bits(run.run(), whole, "y");
  }
}

TEST_P(Tiled, Avx512MakesTheSameBits) {
  const Mask mask = Mask::random({90, 200}, 0.7, 6);
  for (const int64_t length : {16, 41, 902}) {
    TiledCase wanted{.mask = mask, .length = length, .edge = GetParam().edge};
    const std::vector<float> narrow = TiledRun(wanted).run();
    wanted.avx512 = GetParam().avx512;
    expect_same_bits(TiledRun(wanted).run(), narrow, "y");
  }
}

TEST(TiledPlan, IsForSumsWithoutShiftsOfATileOrMore) {
  const TapTable linear = lower_linear(Mask::random({8, 8}, 0.5, 1));
  EXPECT_TRUE(can_be_tiled(linear, make_tiled_request(16)));
  EXPECT_FALSE(can_be_tiled(linear, make_tiled_request(15)));
  EXPECT_FALSE(can_be_tiled(linear, make_request(KernelKind::fused, 64)));
  TapTable shifted = linear;
  shifted.taps.back().shift = 1;
  EXPECT_FALSE(can_be_tiled(shifted, make_tiled_request(16)));
}

TEST(TiledPlan, OneCodeServesEveryLength) {
  const MachineModel machine = made_up_machine();
  EXPECT_EQ(canonical_request(make_tiled_request(16), machine),
            canonical_request(make_tiled_request(902), machine));
}

// Two tiles of a block and its sums share L1, the sums of a part get half of L2.
TEST(TiledPlan, BlocksFollowL1AndPartsFollowL2) {
  const TapTable table = lower_linear(Mask::random({3072, 768}, 0.95, 1));
  const Plan small = plan_kernel(table, make_tiled_request(902), made_up_machine(128 << 10));
  const Plan large = plan_kernel(table, make_tiled_request(902), made_up_machine(4 << 20));
  EXPECT_EQ(small.blocks, large.blocks);
  EXPECT_EQ(small.block_streams, 96);
  EXPECT_LE(small.most_rows() * small.panel * 4, 64 << 10);
  EXPECT_LT(small.most_rows(), large.most_rows());
  for (const Chunk& chunk : large.chunks) EXPECT_LT(chunk.taps * 27, 32 << 10);
}

INSTANTIATE_TEST_SUITE_P(Edges, Tiled,
                         ::testing::Values(TiledParameter{Edge::end, false},
                                           TiledParameter{Edge::start, false},
                                           TiledParameter{Edge::end, true},
                                           TiledParameter{Edge::start, true}),
                         [](const auto& parameter) {
                           const bool end = parameter.param.edge == Edge::end;
                           return std::string(end ? "FlushToTheEnd" : "FlushToTheStart") +
                                  (parameter.param.avx512 ? "Avx512" : "");
                         });

}  // namespace
}  // namespace sparsejit::test
