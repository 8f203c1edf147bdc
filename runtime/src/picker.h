// Picker: measures the candidates of a shape on the caller's own calls and keeps the fastest.
//
// Candidates give the same results, so trying them in turn changes nothing but time. The first call
// of each is a warm-up; then all are sampled in turn and the medians compared. Close ones are
// sampled longer. A candidate is known by its number. Plain state, not thread-safe.
#pragma once

#include <span>
#include <vector>

namespace sparsejit {

class Picker {
 public:
  static constexpr int kUndecided = -1;

  // Who is measured from now on; what is known of those measured before is kept. One candidate
  // alone is chosen at once.
  void enter(std::span<const int> candidates);
  bool started() const { return !racers_.empty(); }
  // While undecided: the candidate of the next call.
  int next() const;
  void record(int candidate, double seconds);
  int chosen() const { return chosen_; }
  // Seconds, 0 without samples.
  double median(int candidate) const;
  // The decision is remade, for instance after the mask changed a lot.
  void restart() { *this = {}; }

 private:
  struct Racer {
    int candidate = 0;
    int calls = 0;
    std::vector<double> seconds;
    double median() const;
  };
  void decide();

  std::vector<Racer> racers_;
  int chosen_ = kUndecided;
};

}  // namespace sparsejit
