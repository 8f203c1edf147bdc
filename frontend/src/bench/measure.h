// Timing of contenders against each other on one problem.
//
// hot:  rounds of bursts. A burst runs one contender back to back: a warm-up, then some samples of
//       forward, then the same for backward. Contenders take turns, so that a machine that slows
//       down or speeds up hits all of them alike:
//
//           round 1: native native native | interpreted ... | dense ...
//           round 2: native native native | ...
//
//       A sample is the mean of enough calls to last kSampleSeconds; a clock reading costs too
//       much next to a kernel of a few microseconds.
// cold: the same rounds, but a sample is one call and the Evictor runs before each.
//
// Sample i of forward and sample i of backward belong together: their sum is a sample of "total".
#pragma once

#include <array>
#include <span>
#include <vector>

#include "bench/contender.h"
#include "bench/evictor.h"

namespace sparsejit::frontend {

struct Sampling {
  int repetitions = 9;       // samples of each contender and pass, at least
  double min_seconds = 0.1;  // time in the hot samples of a contender, at least
  bool settle = false;       // wait_for_idle_threads before each burst
};

// Seconds per call; both passes have equally many entries, or none when not asked for.
using Samples = PerPass<std::vector<double>>;

// Idle threads of another engine's pool may spin for tens of milliseconds before they sleep, on
// the cores the next engine needs. Matters with more than one thread only.
void wait_for_idle_threads();

// One entry for each contender. Cold when there is an evictor, which may be null.
std::vector<Samples> measure(std::span<const Contender> contenders, std::span<const Pass> passes,
                             const Sampling& sampling, Evictor* evictor);

// Quartiles of a sample: [0] lower, [1] median, [2] upper; 0 for an empty one.
std::array<double, 3> quartiles(std::vector<double> samples);

}  // namespace sparsejit::frontend
