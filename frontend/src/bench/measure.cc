// Rounds, bursts and samples; see measure.h.
#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace sparsejit::frontend {
namespace {

constexpr double kSampleSeconds = 200e-6;
constexpr double kWarmUpSeconds = 1e-3;
constexpr double kSlowSeconds = 5e-3;  // a cold call that takes longer needs fewer samples
constexpr int kMaxRounds = 5;
constexpr int kMaxSamples = 2000;
constexpr std::chrono::milliseconds kIdleWait{60};  // OpenBLAS spins for 2^26 cycles

struct Pace {
  PerPass<int> calls = {1, 1};  // in a sample
  int burst = 1;                // samples in a burst
};

double timed_calls(const Contender& contender, Pass pass, int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) contender.run(pass);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return seconds.count() / calls;
}

// Runs for kWarmUpSeconds but at least one call; returns the seconds of the fastest call.
double warm_up(const Contender& contender, Pass pass) {
  double spent = timed_calls(contender, pass, 1);
  double fastest = spent;
  while (spent < kWarmUpSeconds) {
    const double seconds = timed_calls(contender, pass, 1);
    fastest = std::min(fastest, seconds);
    spent += seconds;
  }
  return fastest;
}

int divide_up(int total, int parts) { return (total + parts - 1) / parts; }

Pace choose_pace(const Contender& contender, std::span<const Pass> passes, const Sampling& sampling,
                 int rounds, bool cold) {
  Pace pace;
  double call_seconds = 0;
  double sample_seconds = 0;
  for (const Pass pass : passes) {
    const double seconds = std::max(warm_up(contender, pass), 1e-9);
    int& calls = pace.calls[index_of(pass)];
    calls = cold ? 1 : std::max(1, static_cast<int>(std::ceil(kSampleSeconds / seconds)));
    call_seconds += seconds;
    sample_seconds += seconds * calls;
  }
  int wanted = sampling.repetitions;
  if (cold) {
    if (call_seconds < kSlowSeconds) wanted *= 2;
  } else {
    const double by_time = std::min<double>(kMaxSamples, sampling.min_seconds / sample_seconds);
    wanted = std::max(wanted, static_cast<int>(std::ceil(by_time)));
  }
  pace.burst = divide_up(wanted, rounds);
  return pace;
}

void run_burst(const Contender& contender, Pass pass, const Pace& pace, Evictor* evictor,
               std::vector<double>& samples) {
  if (evictor == nullptr) warm_up(contender, pass);
  for (int i = 0; i < pace.burst; ++i) {
    if (evictor != nullptr) evictor->run();
    samples.push_back(timed_calls(contender, pass, pace.calls[index_of(pass)]));
  }
}

}  // namespace

void wait_for_idle_threads() { std::this_thread::sleep_for(kIdleWait); }

std::vector<Samples> measure(std::span<const Contender> contenders, std::span<const Pass> passes,
                             const Sampling& sampling, Evictor* evictor) {
  const int rounds = std::min(kMaxRounds, sampling.repetitions);
  std::vector<Pace> paces;
  for (const Contender& contender : contenders) {
    paces.push_back(choose_pace(contender, passes, sampling, rounds, evictor != nullptr));
  }
  std::vector<Samples> samples(contenders.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (sampling.settle) wait_for_idle_threads();
      for (const Pass pass : passes) {
        run_burst(contenders[i], pass, paces[i], evictor, samples[i][index_of(pass)]);
      }
    }
  }
  return samples;
}

std::array<double, 3> quartiles(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<size_t>(position);
    const size_t high = std::min(low + 1, samples.size() - 1);
    return samples[low] + (position - static_cast<double>(low)) * (samples[high] - samples[low]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

}  // namespace sparsejit::frontend
