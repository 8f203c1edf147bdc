// See candidates.h.
#include "candidates.h"

#include <system_error>

#include "dense_engine.h"
#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// In the order in which they are tried.
std::vector<CandidateKind> candidate_kinds() {
  return {{.name = "native", .engine = Engine::native, .style = {}},
          {.name = "native table", .engine = Engine::native, .style = {.table = true}},
          {.name = "native tiled", .engine = Engine::native, .style = {.tiled = true}},
          {.name = "dense", .engine = Engine::dense, .style = {}},
          {.name = "interpreted", .engine = Engine::interpreted, .style = {.interpreted = true}}};
}

// Deterministic layers do not depend on when a compile is done.
bool compiles_in_background(const LayerOptions& options) {
  return options.compile == CompileMode::background && !options.deterministic;
}

void fail(const CandidateTarget& target, Candidate& candidate, std::string why) {
  candidate.state = CandidateState::failed;
  candidate.note = std::move(why);
  if (target.layer.warned) return;
  target.layer.warned = true;
  target.layer.runtime->warn(fmt::format("layer {}: interpreted instead of {}: {}",
                                         to_text(target.lowered->spec.mask.shape()),
                                         candidate.kind.name, candidate.note));
}

void adopt(const CandidateTarget& target, Candidate& candidate, NativeBuild build) {
  candidate.state = CandidateState::built;
  candidate.steps = build.steps;
  candidate.code = std::move(build);
  candidate.pending = nullptr;
  candidate.previous = {};
  if (candidate.steps == nullptr) fail(target, candidate, candidate.code.problem);
}

void generate(const CandidateTarget& target, Candidate& candidate) {
  Runtime::Impl& runtime = *target.layer.runtime;
  std::vector<StepRequest> requests = step_requests(target, candidate);
  if (compiles_in_background(target.layer.options) &&
      !is_cached(runtime.cache, target.lowered, requests)) {
    try {
      candidate.pending =
          PendingBuild::start(runtime.compiler, runtime.cache, target.lowered, requests);
      candidate.state = CandidateState::pending;
      return;
    } catch (const std::system_error&) {
      // Without a thread this call waits for the compiler.
    }
  }
  NativeBuild build = build_native(runtime.cache, target.lowered, requests, &runtime.pool);
  if (build.steps == nullptr && !candidate.previous.codes.empty()) {
    // The kernels of the old mask may be what takes the room.
    candidate.previous = {};
    requests = {};
    requests = step_requests(target, candidate);
    build = build_native(runtime.cache, target.lowered, requests, &runtime.pool);
  }
  adopt(target, candidate, std::move(build));
}

void make_interpreted(const CandidateTarget& target, Candidate& candidate) {
  std::vector<Step> steps;
  for (StepRequest& wanted : step_requests(target, candidate)) {
    Plan plan = plan_kernel(target.lowered->table(wanted.step.side, wanted.request.unshifted()),
                            wanted.request, target.layer.runtime->machine);
    wanted.step.kernel =
        std::make_shared<InterpretedKernel>(target.lowered, wanted.step.side, std::move(plan));
    steps.push_back(std::move(wanted.step));
  }
  candidate.steps = std::make_shared<const std::vector<Step>>(std::move(steps));
  candidate.state = CandidateState::built;
}

std::string dense_problem(const CandidateTarget& target) {
  return dense_problem(target.layer.runtime->options.sgemm, target.lowered->spec,
                       target.layer.linear, target.shape.images);
}

void make_dense(const CandidateTarget& target, Candidate& candidate) {
  candidate.state = CandidateState::built;
  const std::string problem = dense_problem(target);
  if (!problem.empty()) fail(target, candidate, problem);
}

// Dense takes part uninvited only where it can run, and where rounding may differ between calls.
bool is_allowed(const CandidateKind& kind, const LayerContext& layer) {
  const LayerOptions& options = layer.options;
  if (options.engine != Engine::automatic) return options.engine == kind.engine;
  if (kind.engine != Engine::dense) return true;
  return layer.linear && layer.runtime->options.sgemm && !options.deterministic;
}

// The streams of one operand of a step.
struct OperandStreams {
  int64_t count = 0;
  bool in_place = false;
  bool copied = false;  // to or from tiles or strips
};

// Adds what is copied to and from layouts of the step's own. Tiles and strips of linear layers are
// made from the tensor itself.
void add_copies(const OperandStreams& streams, bool linear, PassWork& work) {
  if (streams.copied) work.copied_streams += streams.count;
  if (!streams.in_place && !(streams.copied && linear)) work.packed_streams += streams.count;
}

void add_copies(const LoweredLayer& lowered, const StepRequest& wanted, PassWork& work) {
  const InPlace in_place = wanted.step.in_place();
  const KernelKind kind = wanted.step.kind;
  const KernelRequest& request = wanted.request;
  const bool linear = lowered.streams.grid.image_pitch() == 1;
  const int64_t own = lowered.own_streams(wanted.step.side);
  const bool shifted = request.unshifted() && lowered.has_shifts();
  if (shifted) work.shifted_streams += lowered.unshifted_streams(wanted.step.side);
  add_copies({.count = lowered.gathered_streams(wanted.step.side),
              .in_place = in_place.gathered,
              .copied = request.unshifted() && !shifted},
             linear, work);
  if (kind != KernelKind::products) {
    const bool copied = request.own_in_tiles || request.strips;
    add_copies({.count = own, .in_place = in_place.own, .copied = copied}, linear, work);
  }
  if (kind != KernelKind::accumulate) {
    add_copies({.count = own, .in_place = in_place.paired, .copied = request.strips}, linear, work);
  }
}

// Sizes only: what a BLAS takes does not depend on the mask.
PassCost predict_dense(const CandidateTarget& target) {
  const Mask& mask = target.lowered->spec.mask;
  const PassShape& shape = target.shape;
  const bool forward = shape.pass == Pass::forward;
  return predict_dense({.rows = mask.rows(),
                        .cols = mask.cols(),
                        .batch = shape.images,
                        .with_weight = forward || shape.want_dx,
                        .with_gradient = !forward && shape.want_d_values},
                       target.layer.runtime->machine);
}

}  // namespace

std::vector<Candidate> make_candidates(const LayerContext& layer) {
  std::vector<Candidate> candidates;
  for (const CandidateKind& kind : candidate_kinds()) {
    const bool allowed = is_allowed(kind, layer);
    if (!allowed && kind.engine != Engine::interpreted) continue;
    Candidate& candidate = candidates.emplace_back();
    candidate.kind = kind;
    candidate.allowed = allowed;
  }
  return candidates;
}

bool is_possible(const CandidateTarget& target, const Candidate& candidate) {
  const StepStyle& style = candidate.kind.style;
  if (style.table) return can_use_table(target.geometry());
  return !style.tiled || can_tile(target.geometry());
}

std::vector<StepRequest> step_requests(const CandidateTarget& target, const Candidate& candidate) {
  const PassGeometry geometry = target.geometry();
  std::vector<StepRequest> requests;
  for (const Step& step : pass_steps(geometry, candidate.kind.style)) {
    const size_t index = requests.size();
    PreviousKernel previous;
    if (index < candidate.previous.codes.size()) {
      previous = {candidate.previous.codes[index], candidate.previous.lowered};
    }
    const KernelRequest request =
        step_request(geometry, step, candidate.kind.style, target.layer.options.relu);
    requests.push_back({step, request, previous});
  }
  return requests;
}

PassCost predict(const CandidateTarget& target, const Candidate& candidate) {
  const MachineModel& machine = target.layer.runtime->machine;
  if (candidate.kind.engine == Engine::dense) return predict_dense(target);
  std::vector<Plan> plans;
  PassWork work{.plans = {},
                .floats = target.slabs.total(),
                .slabs = target.slabs.count(),
                .longest_slab = target.slabs.longest()};
  for (const StepRequest& wanted : step_requests(target, candidate)) {
    add_copies(*target.lowered, wanted, work);
    const TapTable& table = target.lowered->table(wanted.step.side, wanted.request.unshifted());
    plans.push_back(plan_kernel(table, wanted.request, machine));
  }
  work.plans = plans;
  return candidate.generated() ? predict_native(work, machine) : predict_interpreted(work, machine);
}

bool is_at_hand(const CandidateTarget& target, const Candidate& candidate) {
  return !candidate.generated() ||
         is_cached(target.layer.runtime->cache, target.lowered, step_requests(target, candidate));
}

void start_making(const CandidateTarget& target, Candidate& candidate) {
  if (candidate.state != CandidateState::unknown) return;
  if (candidate.generated()) {
    generate(target, candidate);
  } else if (candidate.kind.engine == Engine::dense) {
    make_dense(target, candidate);
  } else {
    make_interpreted(target, candidate);
  }
}

void poll(const CandidateTarget& target, Candidate& candidate) {
  if (candidate.state != CandidateState::pending) return;
  if (candidate.pending->done()) {
    adopt(target, candidate, candidate.pending->build());
  } else {
    target.layer.runtime->compiler.keep_going();
  }
}

void release(Candidate& candidate) noexcept {
  candidate.steps = nullptr;
  candidate.code = {};
  candidate.pending = nullptr;
  candidate.previous = {};
  candidate.state = CandidateState::unknown;
}

void decline(Candidate& candidate, std::string why) {
  release(candidate);
  candidate.state = CandidateState::declined;
  candidate.note = std::move(why);
}

void forget_mask(Candidate& candidate) noexcept {
  NativeBuild made =
      std::move(candidate.code.steps != nullptr ? candidate.code : candidate.previous);
  release(candidate);
  candidate.note.clear();
  candidate.predicted = {};
  candidate.previous = std::move(made);
}

}  // namespace sparsejit
