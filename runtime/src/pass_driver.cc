// Read run_step at the bottom first.
#include "pass_driver.h"

#include <algorithm>
#include <optional>

#include "sparsejit/strips.h"
#include "step_operands.h"
#include "strip_panel.h"
#include "tiled_panel.h"

namespace sparsejit {
namespace {

struct Slice {
  int64_t first;
  int64_t last;
};

struct PartRange {
  int32_t first;
  int32_t last;
};

Slice slice_of(int64_t count, int thread, int threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

constexpr int64_t kLanes = 8;
constexpr int64_t kChannelGroup = 16;

// Waking another thread costs a few microseconds; less work than this (taps times floats, about
// 20 us) is quicker done by the caller alone. Results do not depend on it.
constexpr int64_t kMinSharedWork = 500'000;

class StepRun {
 public:
  StepRun(const StepContext& context, const StepArguments& arguments)
      : kernel_(context.kernel),
        plan_(context.kernel.plan()),
        lowered_(context.lowered),
        side_(context.side),
        streams_(plan_.unshifted() ? lowered_.unshifted_streams(context.side)
                                   : lowered_.gathered_streams(context.side)),
        grid_(context.lowered.streams.grid),
        slabs_(context.slabs),
        arguments_(arguments),
        pool_(context.pool),
        threads_(plan_.part_taps.back() * slabs_.total() < kMinSharedWork ? 1 : pool_.threads()),
        operands_(context, arguments) {
    if (is_tiled()) {
      tiled_.emplace(kernel_, streams_, std::min(slabs_.longest(), plan_.panel + kLanes), threads_,
                     context.scratch);
    } else if (plan_.family == KernelFamily::strip) {
      strips_.emplace(kernel_, streams_, threads_, context.scratch);
    }
  }

  void run() {
    for (int64_t i = 0; i < slabs_.count(); ++i) {
      const Slab slab = slabs_.at(i);
      if (operands_.any_packed()) {
        share([&](int thread) {
          pack_slice(operands_.gathered, slab, thread);
          pack_slice(operands_.paired, slab, thread);
          gate_slice(slab, thread);
        });
      }
      if (is_tiled()) {
        for_each_panel(slab, [&](int64_t start, int64_t end) {
          run_tiled(slab, start, std::min(end, tiled_length(slab, grid_)));
        });
      } else if (strips_.has_value()) {
        run_strips(slab, i == 0);
      } else {
        share([&](int thread) { compute(slab, i == 0, thread); });
      }
      if (operands_.own.packed()) share([&](int thread) { unpack_slice(slab, thread); });
    }
  }

 private:
  bool is_tiled() const { return plan_.family == KernelFamily::tiled; }
  void share(const std::function<void(int)>& call) const {
    if (threads_ == 1) {
      call(0);
    } else {
      pool_.run(call);
    }
  }

  // Contiguous parts of about equal cost for each thread.
  PartRange parts_of(int thread) const { return {first_part(thread), first_part(thread + 1)}; }

  int32_t first_part(int thread) const {
    if (thread == 0) return 0;
    if (thread == threads_) return plan_.parts();
    const auto cost = [&](int32_t part) {
      return plan_.part_taps[part] + 2 * plan_.part_begin[part];
    };
    const int64_t goal = cost(plan_.parts()) * thread / threads_;
    int32_t part = 0;
    while (part < plan_.parts() && cost(part) + cost(part + 1) <= 2 * goal) ++part;
    return part;
  }

  // Whole groups of channels, which are packed together.
  Slice channels_of(const Operand& operand, int thread) const {
    const int64_t channels = operand.view().channels;
    const Slice groups = slice_of((channels + kChannelGroup - 1) / kChannelGroup, thread, threads_);
    return {std::min(channels, groups.first * kChannelGroup),
            std::min(channels, groups.last * kChannelGroup)};
  }

  void pack_slice(const Operand& operand, const Slab& slab, int thread) const {
    if (!operand.packed()) return;
    const Slice slice = channels_of(operand, thread);
    pack(operand.view(), operand.geometry(slab), operand.packed_slab(slab), slice.first,
         slice.last);
  }

  // The gradient was packed by the same thread just before.
  void gate_slice(const Slab& slab, int thread) const {
    if (!operands_.gate.packed()) return;
    pack_slice(operands_.gate, slab, thread);
    const Slice slice = channels_of(operands_.gate, thread);
    gate_gradient(operands_.gradient().packed_slab(slab), operands_.gate.packed_slab(slab),
                  slice.first, slice.last);
  }

  void unpack_slice(const Slab& slab, int thread) const {
    const Slice slice = channels_of(operands_.own, thread);
    unpack(operands_.own.packed_slab(slab), operands_.own.geometry(slab), arguments_.own,
           slice.first, slice.last);
  }

  // Panels of nearly equal length, none longer than the plan's; all are whole vectors except that
  // the last one takes what is left.
  int64_t panels_of(const Slab& slab) const {
    const int64_t limit = std::max<int64_t>(1, plan_.panel / kLanes);
    return (slab.length / kLanes + limit - 1) / limit;
  }

  // Calls call(start, end).
  template <typename Call>
  void for_each_panel(const Slab& slab, const Call& call) const {
    const int64_t panels = panels_of(slab);
    const auto begin = [&](int64_t panel) {
      return panel == panels ? slab.length : slab.length / kLanes * panel / panels * kLanes;
    };
    for (int64_t panel = 0; panel < panels; ++panel) call(begin(panel), begin(panel + 1));
  }

  void compute(const Slab& slab, bool first_slab, int thread) const {
    for_each_panel(slab, [&](int64_t start, int64_t end) {
      compute_panel(slab, start, end, first_slab && start == 0, thread);
    });
  }

  void run_tiled(const Slab& slab, int64_t start, int64_t end) const {
    const StreamSource source = operands_.gathered_source(slab, start);
    share([&](int thread) {
      const Slice slice = slice_of(streams_, thread, threads_);
      tiled_->pack(source, slice.first, slice.last, end - start);
    });
    share([&](int thread) {
      const PartRange parts = parts_of(thread);
      tiled_->run(operands_.at(slab, start), operands_.target(slab, start), parts.first, parts.last,
                  end - start, thread);
    });
  }

  // Gradients of the bias are summed where streams are contiguous: strips have those of linear
  // layers, packed slabs and planes used in place the others.
  void run_strips(const Slab& slab, bool first_slab) const {
    const bool sums_in_strips = grid_.image_pitch() == 1;
    if (!sums_in_strips && !arguments_.stream_sums.empty()) {
      share([&](int thread) { sum_slab(slab, !first_slab, thread); });
    }
    const StripCut cut(tiled_length(slab, grid_), plan_.panel);
    for (int64_t i = 0; i < cut.count(); ++i) {
      const int64_t start = cut.begin(i);
      const StripOperands strip{
          .gathered = operands_.gathered_source(slab, start),
          .paired = operands_.paired_source(slab, start),
          .own = operands_.target(slab, start),
          .values = arguments_.values,
          .d_values = arguments_.d_values,
          .stream_sums = sums_in_strips ? arguments_.stream_sums : std::span<float>{},
          .first = first_slab && i == 0,
          .floats = cut.floats(i),
          .valid = cut.valid(i)};
      run_strip(strip);
    }
  }

  void run_strip(const StripOperands& strip) const {
    if (strips_->packs_ahead()) {
      share([&](int thread) {
        const Slice slice = slice_of(streams_, thread, threads_);
        strips_->pack_gathered(strip, slice.first, slice.last);
      });
    }
    share([&](int thread) {
      const PartRange parts = parts_of(thread);
      strips_->run(strip, parts.first, parts.last);
    });
  }

  void compute_panel(const Slab& slab, int64_t start, int64_t end, bool first, int thread) const {
    const PanelOperands operands = operands_.at(slab, start);
    const PartRange parts = parts_of(thread);
    const int64_t summed = std::min(end, summed_floats(slab)) - start;
    for (int32_t block = 0; block < plan_.blocks; ++block) {
      if (!arguments_.stream_sums.empty()) sum_block(operands, summed, block, !first, thread);
      kernel_.run(operands, block, parts.first, parts.last, end - start);
    }
  }

  // Behind the rows of a band lie those of the next one, which are not summed with it.
  int64_t summed_floats(const Slab& slab) const {
    return ((slab.images - 1) * grid_.image_rows + slab.rows) * grid_.row_pitch;
  }

  void sum_slab(const Slab& slab, bool accumulate, int thread) const {
    const Slice slice = slice_of(lowered_.gathered_streams(side_), thread, threads_);
    const StreamSource source = operands_.gathered_source(slab, 0);
    sum_streams(source.data, source.stream_stride, std::min(slab.length, summed_floats(slab)),
                slice.first, slice.last, accumulate, arguments_.stream_sums.data());
  }

  // Reads the block's streams just before the kernel needs them in the cache anyway.
  void sum_block(const PanelOperands& operands, int64_t length, int32_t block, bool accumulate,
                 int thread) const {
    const bool paired = operands_.gradient_is_paired();
    const int64_t streams = paired ? plan_.part_begin.back() : streams_;
    const int64_t first = paired ? streams * block / plan_.blocks : block * plan_.block_streams;
    const int64_t last = paired ? streams * (block + 1) / plan_.blocks
                                : std::min(streams, first + plan_.block_streams);
    const Slice slice = slice_of(last - first, thread, threads_);
    sum_streams(paired ? operands.paired : operands.gathered,
                paired ? plan_.pitches.paired : plan_.pitches.gathered, length, first + slice.first,
                first + slice.last, accumulate, arguments_.stream_sums.data());
  }

  const PanelKernel& kernel_;
  const Plan& plan_;
  const LoweredLayer& lowered_;
  const Pass side_;
  const int64_t streams_;  // gathered
  const StreamGrid& grid_;
  const Slabs& slabs_;
  const StepArguments& arguments_;
  ThreadPool& pool_;
  const int threads_;
  const StepOperands operands_;
  std::optional<TiledPanel> tiled_;
  std::optional<StripPanel> strips_;
};

// Values in the plan's order and room for their gradients, when the plan wants that.
class OrderedValues {
 public:
  OrderedValues(std::span<const int32_t> order, std::span<const float> values, ThreadPool& pool,
                ScratchPool& scratch)
      : order_(order),
        pool_(pool),
        values_(scratch.take(std::ssize(order))),
        d_values_(scratch.take(std::ssize(order))) {
    float* const to = values_.data();
    float* const sums = d_values_.data();
    for_each([to, sums, from = values.data()](int64_t i, int32_t value, int32_t ahead) {
      __builtin_prefetch(from + ahead);
      to[i] = from[value];
      sums[i] = 0.0F;
    });
  }

  std::span<const float> values() const { return {values_.data(), order_.size()}; }
  std::span<float> d_values() const { return {d_values_.data(), order_.size()}; }

  void store_d_values(std::span<float> d_values) const {
    for_each(
        [from = d_values_.data(), to = d_values.data()](int64_t i, int32_t value, int32_t ahead) {
          __builtin_prefetch(to + ahead, 1);
          to[value] = from[i];
        });
  }

 private:
  // Neighbours in the table have their values far apart. Prefetching them is 7% of the backward
  // pass of 768 -> 3072 at 80%, Zen 5.
  static constexpr int64_t kAhead = 64;

  // Calls call(position, value index, one further on).
  template <typename Call>
  void for_each(const Call& call) const {
    pool_.run([this, call](int thread) {
      const Slice slice = slice_of(std::ssize(order_), thread, pool_.threads());
      const int32_t* const order = order_.data();
      for (int64_t i = slice.first; i < slice.last; ++i) {
        call(i, order[i], order[std::min(i + kAhead, slice.last - 1)]);
      }
    });
  }

  const std::span<const int32_t> order_;
  ThreadPool& pool_;
  ScratchPool::Buffer values_;
  ScratchPool::Buffer d_values_;
};

}  // namespace

void run_step(const StepContext& context, const StepArguments& arguments) {
  if (!context.kernel.plan().packed_values) {
    StepRun(context, arguments).run();
    return;
  }
  const OrderedValues ordered(context.kernel.value_order(), arguments.values, context.pool,
                              context.scratch);
  StepArguments in_order = arguments;
  in_order.values = ordered.values();
  in_order.d_values = ordered.d_values();
  StepRun(context, in_order).run();
  ordered.store_d_values(arguments.d_values);
}

}  // namespace sparsejit
