// Asks a layer for its plans, then emits them like the layer did; see inspection.h. The layer gets
// a runtime of its own, told that the machine has AVX2: compiling needs none, and a code budget or
// a refused mapping shows up as the reason a user's layer would give.
#include "inspect/inspection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

template <typename Work>
double median_seconds(const Work& work) {
  std::array<double, 5> seconds{};
  for (double& s : seconds) {
    const auto start = std::chrono::steady_clock::now();
    work();
    s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

// See the table of steps in plan.h.
Pass side_of(Pass pass, const Plan& plan) {
  const bool by_destination =
      plan.kind == KernelKind::products && plan.family != KernelFamily::strip;
  return by_destination ? Pass::forward : pass;
}

KernelInspection inspect_kernel(const std::shared_ptr<const InspectedLayer>& layer,
                                const KernelReport& report, const Plan& plan) {
  KernelInspection kernel;
  kernel.layer = layer;
  kernel.side = side_of(report.pass, plan);
  kernel.images_per_slab = report.images_per_slab;
  kernel.plan = plan;
  EmitResult emitted;
  kernel.emit_seconds = median_seconds([&] { emitted = emit_kernel(kernel.table(), plan); });
  emitted = emit_kernel(kernel.table(), plan, {.notes = true});
  SPARSEJIT_CHECK(emitted.code.has_value(), ==, true);
  kernel.code = std::move(*emitted.code);
  return kernel;
}

// The plan of the tiled family where the layer has `plan`. Rows that are not used in place are
// copied from the tiles, those of images packed first.
Plan in_tiles(const InspectedLayer& layer, const Plan& plan, const LayerOptions& options,
              const MachineModel& machine) {
  const TapTable& table = layer.of(Pass::forward, true);
  const int64_t pixels = std::max<int64_t>(1, options.image.height * options.image.width);
  KernelRequest request{.kind = KernelKind::accumulate,
                        .length = options.batch * pixels,
                        .pitches = plan.pitches,
                        .relu = plan.relu,
                        .tiled = true};
  request.own_in_tiles = !layer.conv && options.layout == Layout::row_major;
  if (!can_be_tiled(table, request)) {
    throw_error("--tiled: a layer of {} with streams of {} floats, expected at least {} floats",
                to_text(layer.mask.shape()), request.length, kTileFloats);
  }
  return plan_kernel(table, request, machine);
}

// Floats of a stream of one slab, which is whole vectors where it is packed, as short ones always
// are.
int64_t stream_floats(const InspectedLayer& layer, const KernelReport& report,
                      const LayerOptions& options) {
  constexpr int64_t kLanes = 8;
  int64_t floats = options.batch;
  if (layer.conv) {
    const StreamGrid& grid = layer.conv->streams.grid;
    floats = grid.length(std::max<int64_t>(1, report.images_per_slab), grid.used_rows);
  }
  const bool packed = layer.conv || options.layout == Layout::row_major || floats < kLanes;
  return packed ? (floats + kLanes - 1) / kLanes * kLanes : floats;
}

// The plan of the table family for a pass that has `report`: backward always takes one step.
Plan with_table(const InspectedLayer& layer, const KernelReport& report,
                const LayerOptions& options, const MachineModel& machine) {
  const bool forward = report.pass == Pass::forward;
  const Plan& first = report.plans.front();
  const Plan& last = report.plans.back();
  KernelRequest request{.kind = forward ? KernelKind::accumulate : KernelKind::fused,
                        .length = stream_floats(layer, report, options),
                        .pitches = first.pitches,
                        .relu = first.relu,
                        .table = true};
  if (last.kind == KernelKind::products) request.pitches.paired = last.pitches.gathered;
  if (!can_use_table(request, machine)) {
    throw_error("--table: streams of {} floats, expected at most {}", request.length,
                kMaxResidentVectors * machine.isa.lanes);
  }
  return plan_kernel(layer.of(report.pass), request, machine);
}

// What the layer reports, or what was asked for instead.
std::vector<Plan> plans_of(const InspectedLayer& layer, const KernelReport& report,
                           const InspectRequest& request, const MachineModel& machine) {
  if (report.plans.empty()) return {};
  if (request.table) return {with_table(layer, report, request.options, machine)};
  std::vector<Plan> plans = report.plans;
  if (!request.tiled || report.pass != Pass::forward) return plans;
  for (Plan& plan : plans) plan = in_tiles(layer, plan, request.options, machine);
  return plans;
}

int64_t first_row_with_taps(const TapTable& table) {
  for (size_t row = 0; row + 1 < table.row_begin.size(); ++row) {
    if (table.row_begin[row] != table.row_begin[row + 1]) return static_cast<int64_t>(row);
  }
  return 0;
}

}  // namespace

std::vector<PassInspection> inspect_passes(const std::shared_ptr<const InspectedLayer>& layer,
                                           const InspectRequest& request,
                                           const MachineModel& machine) {
  MachineModel capable = machine;
  capable.avx2_fma = true;
  RuntimeOptions runtime_options;
  runtime_options.threads = 1;
  runtime_options.machine = std::make_shared<const MachineModel>(capable);
  Runtime runtime(runtime_options);
  LayerOptions options = request.options;
  options.engine = Engine::native;
  options.runtime = &runtime;
  const std::vector<KernelReport> reports = layer->compile(options).report();
  std::vector<PassInspection> inspections;
  for (const Pass pass : request.passes) {
    PassInspection& inspection = inspections.emplace_back();
    inspection.pass = pass;
    for (const KernelReport& report : reports) {
      if (report.pass != pass) continue;
      inspection.reason = report.reason;
      if (report.engine != Engine::native) continue;
      for (const Plan& plan : plans_of(*layer, report, request, capable)) {
        inspection.kernels.push_back(inspect_kernel(layer, report, plan));
      }
    }
  }
  return inspections;
}

Listing list_code(const KernelInspection& kernel, const ListingChoice& choice) {
  Listing listing;
  listing.choice = choice;
  if (choice.chunk) {
    const Chunk& chunk = kernel.plan.chunks[static_cast<size_t>(*choice.chunk)];
    const auto part = static_cast<size_t>(chunk.part);
    listing.first_row = kernel.plan.part_begin[part];
    listing.rows = kernel.plan.part_begin[part + 1] - listing.first_row;
    listing.pieces = {{.chunk = *choice.chunk,
                       .taps = chunk.taps,
                       .range = chunk_range(kernel.code, *choice.chunk)}};
    return listing;
  }
  if (kernel.table().rows() == 0) return listing;
  listing.choice.row = choice.row.value_or(first_row_with_taps(kernel.table()));
  listing.first_row = *listing.choice.row;
  listing.rows = 1;
  listing.pieces = find_row_code(kernel.code, kernel.plan, listing.first_row);
  return listing;
}

}  // namespace sparsejit::frontend
