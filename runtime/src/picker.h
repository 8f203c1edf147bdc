// Picker: measures the candidates of a shape on the caller's own calls and keeps the fastest.
//
// Trying them in turn changes nothing but time. The first call of each is a warm-up; then all are
// sampled in turn, so that what slows the machine for a while slows all of them. One that is
// clearly slower than the leader is dropped:
//
//     samples of each   dropped when
//     2                 its fastest call takes 1.5x the leader's slowest
//     3                                        1.2x
//     5                                        1.05x
//     7                 its median is 1.1x the leader's
//     15                              1.05x
//     31                the lowest median is chosen
//
// Two candidates that differ by half take 6 calls, close pairs 64. Calls of a few microseconds are
// repeated three times as often, which is 10 ms at most. A candidate is known by its number. Plain
// state, not thread-safe.
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
  // While undecided: the candidate of the next call.
  int next() const;
  void record(int candidate, double seconds);
  int chosen() const { return chosen_; }
  // Of all calls measured, in seconds; 0 without any.
  double median(int candidate) const;
  // The decision is remade, for instance after the mask changed a lot.
  void restart() { *this = {}; }

 private:
  struct Racer {
    int candidate = 0;
    int calls = 0;
    bool dropped = false;
    std::vector<double> seconds;  // without the warm-up
    double median() const;
  };
  const Racer* find(int candidate) const;
  void decide();

  std::vector<Racer> racers_;
  int chosen_ = kUndecided;
};

}  // namespace sparsejit
