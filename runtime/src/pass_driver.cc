// Read run_step at the bottom first.
#include "pass_driver.h"

#include <algorithm>
#include <optional>

#include "operand.h"
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
        streams_(is_tiled() ? lowered_.tiled_streams() : lowered_.gathered_streams(context.side)),
        grid_(context.lowered.streams.grid),
        slabs_(context.slabs),
        arguments_(arguments),
        pool_(context.pool),
        threads_(plan_.part_taps.back() * slabs_.total() < kMinSharedWork ? 1 : pool_.threads()),
        gathered_(arguments.gathered, gathered_options(context), context.scratch),
        own_(arguments.own, own_options(context), context.scratch),
        paired_(arguments.paired,
                options(context, by_source(context), plan_.pitches.paired, context.in_place.paired,
                        false),
                context.scratch),
        gate_(arguments.gate, options(context, false, gradient().pitch(), false, !is_products()),
              context.scratch) {
    if (!is_tiled()) return;
    tiled_.emplace(kernel_, streams_, std::min(slabs_.longest(), plan_.panel + kLanes), threads_,
                   context.scratch);
  }

  void run() {
    const bool any_packed = gathered_.packed() || own_.packed() || paired_.packed();
    for (int64_t i = 0; i < slabs_.count(); ++i) {
      const Slab slab = slabs_.at(i);
      if (any_packed) {
        share([&](int thread) {
          pack_slice(gathered_, slab, thread);
          pack_slice(paired_, slab, thread);
          gate_slice(slab, thread);
        });
      }
      if (is_tiled()) {
        for_each_panel(slab, [&](int64_t start, int64_t end) {
          run_tiled(slab, start, std::min(end, tiled_length(slab, grid_)));
        });
      } else {
        share([&](int thread) { compute(slab, i == 0, thread); });
      }
      if (own_.packed()) share([&](int thread) { unpack_slice(slab, thread); });
    }
  }

 private:
  static bool by_source(const StepContext& context) { return context.side == Pass::backward; }
  bool is_tiled() const { return plan_.family == KernelFamily::tiled; }
  bool is_products() const { return plan_.kind == KernelKind::products; }
  // The operand that is the gradient of the layer's output, in backward steps.
  const Operand& gradient() const { return is_products() ? paired_ : gathered_; }

  // `of_source`: the tensor is the layer's input, or its gradient.
  static Operand::Options options(const StepContext& context, bool of_source, int64_t pitch,
                                  bool in_place, bool gathered) {
    const ConvStreams& streams = context.lowered.streams;
    return {.side = of_source ? streams.source : streams.destination,
            .grid = streams.grid,
            .pitch = pitch,
            .in_place = in_place,
            .gathered = gathered};
  }

  // Tiles are made from the tensor itself where its streams have one stride: of linear layers.
  static Operand::Options gathered_options(const StepContext& context) {
    const Plan& plan = context.kernel.plan();
    Operand::Options result = options(context, !by_source(context), plan.pitches.gathered,
                                      context.in_place.gathered, true);
    if (plan.family != KernelFamily::tiled) return result;
    result.in_place |= result.grid.image_pitch() == 1;
    result.pitch = stream_pitch(Operand::packed_floats(result.grid, context.slabs.longest(), true));
    return result;
  }

  // Tiles are copied to the tensor itself.
  static Operand::Options own_options(const StepContext& context) {
    const Plan& plan = context.kernel.plan();
    return options(context, by_source(context), plan.pitches.own,
                   context.in_place.own || plan.own_in_tiles, false);
  }

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
    if (!gate_.packed()) return;
    pack_slice(gate_, slab, thread);
    const Slice slice = channels_of(gate_, thread);
    gate_gradient(gradient().packed_slab(slab), gate_.packed_slab(slab), slice.first, slice.last);
  }

  void unpack_slice(const Slab& slab, int thread) const {
    const Slice slice = channels_of(own_, thread);
    unpack(own_.packed_slab(slab), own_.geometry(slab), arguments_.own, slice.first, slice.last);
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

  TileSource tile_source(const Slab& slab, int64_t start) const {
    if (gathered_.packed()) {
      const auto planes = std::ssize(lowered_.streams.source.planes);
      return {gathered_.at(slab, start), gathered_.pitch(), 1, lowered_.shifted, planes};
    }
    const ConstImageView& view = gathered_.view();
    if (grid_.image_pitch() != 1) return {gathered_.at(slab, start), view.channel_stride, 1};
    return {view.data + (slab.first_image + start) * view.image_stride, view.channel_stride,
            view.image_stride};
  }

  // Of plans that leave results in tiles, which only linear layers have.
  TileTarget tile_target(const Slab& slab, int64_t start) const {
    const ImageView& view = arguments_.own;
    return {view.data + (slab.first_image + start) * view.image_stride, view.channel_stride,
            view.image_stride};
  }

  void run_tiled(const Slab& slab, int64_t start, int64_t end) const {
    const TileSource source = tile_source(slab, start);
    share([&](int thread) {
      const Slice slice = slice_of(streams_, thread, threads_);
      tiled_->pack(source, slice.first, slice.last, end - start);
    });
    share([&](int thread) {
      const PartRange parts = parts_of(thread);
      tiled_->run(operands_at(slab, start), tile_target(slab, start), parts.first, parts.last,
                  end - start, thread);
    });
  }

  PanelOperands operands_at(const Slab& slab, int64_t start) const {
    return {.gathered = gathered_.at(slab, start),
            .own = const_cast<float*>(own_.at(slab, start)),
            .paired = paired_.at(slab, start),
            .values = arguments_.values.data(),
            .start = arguments_.start,
            .d_values = arguments_.d_values.data()};
  }

  void compute_panel(const Slab& slab, int64_t start, int64_t end, bool first, int thread) const {
    const PanelOperands operands = operands_at(slab, start);
    const PartRange parts = parts_of(thread);
    // Behind the rows of a band lie those of the next one, which are not summed here.
    const int64_t rows = (slab.images - 1) * grid_.image_rows + slab.rows;
    const int64_t summed = std::min(end, rows * grid_.row_pitch) - start;
    for (int32_t block = 0; block < plan_.blocks; ++block) {
      if (!arguments_.stream_sums.empty()) sum_block(operands, summed, block, !first, thread);
      kernel_.run(operands, block, parts.first, parts.last, end - start);
    }
  }

  // Reads the block's streams just before the kernel needs them in the cache anyway.
  void sum_block(const PanelOperands& operands, int64_t length, int32_t block, bool accumulate,
                 int thread) const {
    const bool paired = is_products();
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
  const int64_t streams_;  // gathered
  const StreamGrid& grid_;
  const Slabs& slabs_;
  const StepArguments& arguments_;
  ThreadPool& pool_;
  const int threads_;
  Operand gathered_;
  Operand own_;
  Operand paired_;
  Operand gate_;
  std::optional<TiledPanel> tiled_;
};

// Values in the table's order and room for their gradients, when the plan wants that.
class OrderedValues {
 public:
  OrderedValues(const TapTable& table, std::span<const float> values, ThreadPool& pool,
                ScratchPool& scratch)
      : table_(table),
        pool_(pool),
        values_(scratch.take(table.size())),
        d_values_(scratch.take(table.size())) {
    pool.run([&](int thread) {
      const Slice slice = slice_of(table_.size(), thread, pool_.threads());
      for (int64_t i = slice.first; i < slice.last; ++i) {
        values_.data()[i] = values[table_.taps[i].value];
        d_values_.data()[i] = 0.0F;
      }
    });
  }

  std::span<const float> values() const { return {values_.data(), size()}; }
  std::span<float> d_values() const { return {d_values_.data(), size()}; }

  void store_d_values(std::span<float> d_values) const {
    pool_.run([&](int thread) {
      const Slice slice = slice_of(table_.size(), thread, pool_.threads());
      for (int64_t i = slice.first; i < slice.last; ++i) {
        d_values[table_.taps[i].value] = d_values_.data()[i];
      }
    });
  }

 private:
  size_t size() const { return static_cast<size_t>(table_.size()); }

  const TapTable& table_;
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
  const OrderedValues ordered(context.lowered.table(context.side), arguments.values, context.pool,
                              context.scratch);
  StepArguments in_order = arguments;
  in_order.values = ordered.values();
  in_order.d_values = ordered.d_values();
  StepRun(context, in_order).run();
  ordered.store_d_values(arguments.d_values);
}

}  // namespace sparsejit
