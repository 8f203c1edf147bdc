#include "picker.h"

#include <algorithm>

namespace sparsejit {
namespace {

constexpr int kWarmUpCalls = 1;
constexpr size_t kSamples = 7;
// Medians closer than this are not trusted until there are kCloseSamples of each.
constexpr double kClose = 0.10;
constexpr size_t kCloseSamples = 31;

}  // namespace

double Picker::Racer::median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void Picker::enter(std::span<const int> candidates) {
  std::vector<Racer> racers;
  for (const int candidate : candidates) {
    racers.push_back({.candidate = candidate, .calls = 0, .seconds = {}});
    for (Racer& known : racers_) {
      if (known.candidate == candidate) racers.back() = std::move(known);
    }
  }
  racers_ = std::move(racers);
  if (racers_.size() == 1) chosen_ = racers_.front().candidate;
}

int Picker::next() const {
  const auto least =
      std::min_element(racers_.begin(), racers_.end(),
                       [](const Racer& a, const Racer& b) { return a.calls < b.calls; });
  return least->candidate;
}

void Picker::record(int candidate, double seconds) {
  if (chosen_ != kUndecided) return;
  for (Racer& racer : racers_) {
    if (racer.candidate != candidate) continue;
    if (++racer.calls > kWarmUpCalls) racer.seconds.push_back(seconds);
    decide();
  }
}

void Picker::decide() {
  size_t samples = kCloseSamples;
  for (const Racer& racer : racers_) samples = std::min(samples, racer.seconds.size());
  if (samples < kSamples) return;
  std::vector<const Racer*> order;
  for (const Racer& racer : racers_) order.push_back(&racer);
  std::stable_sort(order.begin(), order.end(),
                   [](const Racer* a, const Racer* b) { return a->median() < b->median(); });
  const bool close = order[1]->median() < (1 + kClose) * order[0]->median();
  if (close && samples < kCloseSamples) return;
  chosen_ = order[0]->candidate;
}

double Picker::median(int candidate) const {
  for (const Racer& racer : racers_) {
    if (racer.candidate == candidate) return racer.median();
  }
  return 0;
}

}  // namespace sparsejit
