// Candidates: the ways to run a pass of one shape, of which the layer picks one (variant.h).
//
//     name          engine       steps                         code to generate
//     native        native       pass_steps({})                yes
//     native table  native       pass_steps({.table})          yes; only where can_use_table
//     native tiled  native       pass_steps({.tiled})          yes; only where can_tile
//     dense         dense        none: dense_engine.h          no; where the runtime has an sgemm
//     interpreted   interpreted  pass_steps({.interpreted})    no; always there, always last
//
// Another kernel family is another line of candidate_kinds() and, where its steps are cut or
// planned in another way, a member of StepStyle (pass_steps.h); its time is predicted from its
// plans (cost_model.h). All of them but dense give the same bits.
//
// State: unknown -> declined (not worth making) | pending (compiles in the background) -> built |
// failed. `note` says why it is declined or failed. Plain data and the functions that move it
// along; whoever owns a candidate has the lock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_model.h"
#include "native_build.h"
#include "pass_shape.h"
#include "runtime_impl.h"
#include "sparsejit/layer.h"

namespace sparsejit {

struct CandidateKind {
  const char* name;
  Engine engine;
  StepStyle style;
};

enum class CandidateState { unknown, declined, pending, built, failed };

struct Candidate {
  CandidateKind kind;
  bool allowed = true;  // by the engine asked for; else it only serves while there is no other
  CandidateState state = CandidateState::unknown;
  Steps steps;                            // once built; null: dense
  NativeBuild code;                       // of generated ones, once built
  std::shared_ptr<PendingBuild> pending;  // while pending
  NativeBuild previous;                   // generated for the mask before, until built
  std::string note;                       // why it is declined or failed
  PassCost predicted;                     // 0: nobody asked

  bool generated() const { return kind.engine == Engine::native; }
  bool failed() const { return state == CandidateState::failed; }
};

// What the candidates of one layer have in common.
struct LayerContext {
  const std::shared_ptr<Runtime::Impl> runtime;
  const LayerOptions options;
  const bool linear;
  bool warned = false;  // that generated code was asked for in vain
};

// A shape, and the mask it is run with now.
struct CandidateTarget {
  LayerContext& layer;
  const LoweredLayerPtr& lowered;
  const PassShape& shape;
  const Slabs& slabs;

  PassGeometry geometry() const { return {*lowered, shape, slabs, layer.runtime->machine}; }
};

// The candidates that the layer's options allow. The last one is interpreted, which serves until
// another is ready, or when none can be had.
std::vector<Candidate> make_candidates(const LayerContext& layer);

// Whether there are such steps for the shape at all.
bool is_possible(const CandidateTarget& target, const Candidate& candidate);

std::vector<StepRequest> step_requests(const CandidateTarget& target, const Candidate& candidate);

// What a call would take, and making it.
PassCost predict(const CandidateTarget& target, const Candidate& candidate);

// Whether making it costs nothing: no code is missing in the cache.
bool is_at_hand(const CandidateTarget& target, const Candidate& candidate);

// From unknown to pending or built. Does nothing in other states.
void start_making(const CandidateTarget& target, Candidate& candidate);
// From pending to built, if the background compiler is done.
void poll(const CandidateTarget& target, Candidate& candidate);
void decline(Candidate& candidate, std::string why);
// The candidate will not run, or not with this mask: frees what was made.
void release(Candidate& candidate) noexcept;
// To unknown, as the mask changes; generated code is kept as a source of chunks.
void forget_mask(Candidate& candidate) noexcept;

}  // namespace sparsejit
