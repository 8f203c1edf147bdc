// Read run_step at the bottom first.
#include "pass_driver.h"

#include <algorithm>

#include "pack.h"

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

// Waking another thread costs a few microseconds; less work than this (taps times floats, about
// 20 us) is quicker done by the caller alone. Results do not depend on it.
constexpr int64_t kMinSharedWork = 500'000;

// One operand of the step: in place, or packed panel by panel.
class Operand {
 public:
  Operand(const ConstTensorView& view, int64_t direct_pitch, int64_t packed_pitch,
          ScratchPool& scratch)
      : view_(view), pitch_(direct_pitch != 0 ? direct_pitch : packed_pitch) {
    if (direct_pitch == 0 && !view.empty()) buffer_ = scratch.take(view.features * packed_pitch);
  }

  bool packed() const { return buffer_.data() != nullptr; }
  const ConstTensorView& view() const { return view_; }
  // Where the panel that begins at sample `start` begins.
  const float* at(int64_t start) const {
    if (packed() || view_.empty()) return buffer_.data();
    return view_.data + start;
  }
  PackedPanel panel(int64_t start, int64_t length, int64_t padded_length) const {
    return {buffer_.data(), pitch_, start, length, padded_length};
  }

 private:
  ConstTensorView view_;
  int64_t pitch_;
  ScratchPool::Buffer buffer_;
};

class StepRun {
 public:
  StepRun(const TapTable& table, const PanelKernel& kernel, const Pitches& direct, int64_t length,
          const StepArguments& arguments, ThreadPool& pool, ScratchPool& scratch)
      : kernel_(kernel),
        plan_(kernel.plan()),
        table_(table),
        arguments_(arguments),
        pool_(pool),
        threads_(table.size() * length < kMinSharedWork ? 1 : pool.threads()),
        length_(length),
        gathered_(arguments.gathered, direct.gathered, plan_.pitches.gathered, scratch),
        own_(arguments.own, direct.own, plan_.pitches.own, scratch),
        paired_(arguments.paired, direct.paired, plan_.pitches.paired, scratch) {
    const int64_t limit = std::max<int64_t>(1, plan_.panel / kLanes);
    panels_ = (length / kLanes + limit - 1) / limit;
  }

  void run() {
    if (!gathered_.packed() && !own_.packed() && !paired_.packed()) {
      share([&](int thread) {
        for (int64_t panel = 0; panel < panels_; ++panel) compute(panel, thread);
      });
      return;
    }
    for (int64_t panel = 0; panel < panels_; ++panel) {
      share([&](int thread) {
        pack_slice(gathered_, panel, thread);
        pack_slice(paired_, panel, thread);
      });
      share([&](int thread) { compute(panel, thread); });
      if (own_.packed()) share([&](int thread) { unpack_slice(panel, thread); });
    }
  }

 private:
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
      const int64_t row = plan_.part_begin[part];
      return table_.row_begin[row] + 2 * row;
    };
    const int64_t goal = cost(plan_.parts()) * thread / threads_;
    int32_t part = 0;
    while (part < plan_.parts() && cost(part) + cost(part + 1) <= 2 * goal) ++part;
    return part;
  }

  // Panels of nearly equal length, none longer than the plan's; all are whole vectors except that
  // the last one takes what is left.
  int64_t panel_begin(int64_t panel) const {
    return panel == panels_ ? length_ : length_ / kLanes * panel / panels_ * kLanes;
  }

  PackedPanel packed_panel(const Operand& operand, int64_t panel) const {
    const int64_t begin = panel_begin(panel);
    const int64_t padded = panel_begin(panel + 1) - begin;
    return operand.panel(begin, std::min(padded, operand.view().batch - begin), padded);
  }

  void pack_slice(const Operand& operand, int64_t panel, int thread) const {
    if (!operand.packed()) return;
    const Slice slice = slice_of(operand.view().features, thread, threads_);
    pack(operand.view(), packed_panel(operand, panel), slice.first, slice.last);
  }

  void unpack_slice(int64_t panel, int thread) const {
    const Slice slice = slice_of(arguments_.own.features, thread, threads_);
    unpack(packed_panel(own_, panel), arguments_.own, slice.first, slice.last);
  }

  void compute(int64_t panel, int thread) const {
    const int64_t start = panel_begin(panel);
    const int64_t length = panel_begin(panel + 1) - start;
    const PanelOperands operands{.gathered = gathered_.at(start),
                                 .own = const_cast<float*>(own_.at(start)),
                                 .paired = paired_.at(start),
                                 .values = arguments_.values.data(),
                                 .start = arguments_.start,
                                 .d_values = arguments_.d_values.data()};
    const PartRange parts = parts_of(thread);
    for (int32_t block = 0; block < plan_.blocks; ++block) {
      if (!arguments_.stream_sums.empty()) sum_block(operands, panel, block, thread);
      kernel_.run(operands, block, parts.first, parts.last, length);
    }
  }

  // Reads the block's streams just before the kernel needs them in the cache anyway.
  void sum_block(const PanelOperands& operands, int64_t panel, int32_t block, int thread) const {
    const bool paired = plan_.kind == KernelKind::products;
    const int64_t streams = paired ? table_.rows() : table_.streams;
    const int64_t first = paired ? streams * block / plan_.blocks : block * plan_.block_streams;
    const int64_t last = paired ? streams * (block + 1) / plan_.blocks
                                : std::min(streams, first + plan_.block_streams);
    const Slice slice = slice_of(last - first, thread, threads_);
    sum_streams(paired ? operands.paired : operands.gathered,
                paired ? plan_.pitches.paired : plan_.pitches.gathered,
                panel_begin(panel + 1) - panel_begin(panel), first + slice.first,
                first + slice.last, panel > 0, arguments_.stream_sums.data());
  }

  const PanelKernel& kernel_;
  const Plan& plan_;
  const TapTable& table_;
  const StepArguments& arguments_;
  ThreadPool& pool_;
  const int threads_;
  const int64_t length_;
  int64_t panels_ = 1;
  Operand gathered_;
  Operand own_;
  Operand paired_;
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

void run_step(const LoweredMask& lowered, Pass side, const PanelKernel& kernel,
              const Pitches& direct, int64_t length, const StepArguments& arguments,
              ThreadPool& pool, ScratchPool& scratch) {
  const TapTable& table = lowered.table(side);
  if (!kernel.plan().packed_values) {
    StepRun(table, kernel, direct, length, arguments, pool, scratch).run();
    return;
  }
  const OrderedValues ordered(table, arguments.values, pool, scratch);
  StepArguments in_order = arguments;
  in_order.values = ordered.values();
  in_order.d_values = ordered.d_values();
  StepRun(table, kernel, direct, length, in_order, pool, scratch).run();
  ordered.store_d_values(arguments.d_values);
}

}  // namespace sparsejit
