// See picker.h.
#include "picker.h"

#include <algorithm>
#include <limits>

namespace sparsejit {
namespace {

constexpr int kWarmUpCalls = 1;
// Calls shorter than this cost nothing to repeat, and single ones tell little: clocks, caches and
// branch predictors are as long. So they have more warm-up and three samples for one.
constexpr double kShortCall = 50e-6;
constexpr int kShortWarmUpCalls = 3;
constexpr size_t kShortSamples = 3;

// With so many samples of all, a candidate is dropped beyond these factors.
struct Rule {
  size_t samples;
  bool ranges;  // its fastest call against the leader's slowest, not medians
  double factor;
};
constexpr Rule kRules[] = {{2, true, 1.5},  {3, true, 1.2},    {5, true, 1.05},
                           {7, false, 1.1}, {15, false, 1.05}, {31, false, 1.0}};

double median_of(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

bool is_slower(const std::vector<double>& seconds, const std::vector<double>& leader,
               size_t samples) {
  return std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) {
    if (samples < rule.samples) return false;
    return rule.ranges ? *std::min_element(seconds.begin(), seconds.end()) >=
                             rule.factor * *std::max_element(leader.begin(), leader.end())
                       : median_of(seconds) >= rule.factor * median_of(leader);
  });
}

}  // namespace

double Picker::Racer::median() const { return median_of(seconds); }

const Picker::Racer* Picker::find(int candidate) const {
  for (const Racer& racer : racers_) {
    if (racer.candidate == candidate) return &racer;
  }
  return nullptr;
}

void Picker::enter(std::span<const int> candidates) {
  if (std::ranges::equal(racers_, candidates, {}, &Racer::candidate)) return;
  std::vector<Racer> racers;
  for (const int candidate : candidates) {
    const Racer* known = find(candidate);
    racers.push_back(known == nullptr ? Racer{.candidate = candidate, .seconds = {}} : *known);
  }
  racers_ = std::move(racers);
  decide();
}

int Picker::next() const {
  int next = kUndecided;
  int calls = std::numeric_limits<int>::max();
  for (const Racer& racer : racers_) {
    if (racer.dropped || racer.calls >= calls) continue;
    calls = racer.calls;
    next = racer.candidate;
  }
  return next;
}

void Picker::record(int candidate, double seconds) {
  if (chosen_ != kUndecided) return;
  for (Racer& racer : racers_) {
    if (racer.candidate != candidate || racer.dropped) continue;
    ++racer.calls;
    if (racer.calls > (seconds < kShortCall ? kShortWarmUpCalls : kWarmUpCalls)) {
      racer.seconds.push_back(seconds);
    }
    decide();
  }
}

void Picker::decide() {
  std::vector<Racer*> left;
  for (Racer& racer : racers_) {
    if (!racer.dropped) left.push_back(&racer);
  }
  if (left.empty()) return;
  const auto samples = [](const Racer* r) { return r->seconds.size(); };
  const size_t taken = samples(*std::ranges::min_element(left, {}, samples));
  const Racer& leader = **std::ranges::min_element(left, {}, &Racer::median);
  size_t remaining = left.size();
  if (taken > 0) {
    for (Racer* racer : left) {
      const size_t least = racer->median() < kShortCall ? taken / kShortSamples : taken;
      if (racer == &leader || !is_slower(racer->seconds, leader.seconds, least)) continue;
      racer->dropped = true;
      --remaining;
    }
  }
  if (remaining == 1) chosen_ = leader.candidate;
}

double Picker::median(int candidate) const {
  const Racer* racer = find(candidate);
  return racer == nullptr ? 0 : racer->median();
}

}  // namespace sparsejit
