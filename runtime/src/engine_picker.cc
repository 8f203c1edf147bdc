#include "engine_picker.h"

#include <algorithm>

namespace sparsejit {
namespace {

constexpr int kWarmUpCalls = 1;
constexpr size_t kSamples = 7;
// Medians closer than this are not trusted until there are kCloseSamples of each.
constexpr double kClose = 0.10;
constexpr size_t kCloseSamples = 31;

}  // namespace

Engine EnginePicker::next() const {
  return native_.calls <= interpreted_.calls ? Engine::native : Engine::interpreted;
}

void EnginePicker::record(Engine engine, double seconds) {
  if (chosen_ != Engine::automatic) return;
  Samples& samples = engine == Engine::native ? native_ : interpreted_;
  if (++samples.calls > kWarmUpCalls) samples.seconds.push_back(seconds);
  const size_t count = std::min(native_.seconds.size(), interpreted_.seconds.size());
  if (count < kSamples) return;
  const double native = median(Engine::native);
  const double interpreted = median(Engine::interpreted);
  const bool close = std::max(native, interpreted) < (1 + kClose) * std::min(native, interpreted);
  if (close && count < kCloseSamples) return;
  chosen_ = native <= interpreted ? Engine::native : Engine::interpreted;
}

double EnginePicker::median(Engine engine) const {
  std::vector<double> seconds = of(engine).seconds;
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace sparsejit
