// See pick_key.h.
#include "pick_key.h"

#include <algorithm>
#include <cmath>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

// Rows of random masks hardly exceed twice the mean.
constexpr double kBalanced = 1.5;

std::string density_text(const Mask& mask) {
  if (mask.nnz() == 0) return "none";
  return std::to_string(std::lround(4 * std::log2(1 - mask.sparsity())));
}

std::string imbalance_text(const Mask& mask) {
  if (mask.nnz() == 0) return "none";
  int64_t fullest = 0;
  for (int64_t row = 0; row < mask.rows(); ++row) {
    fullest = std::max(fullest, mask.row_begin()[row + 1] - mask.row_begin()[row]);
  }
  const double mean = static_cast<double>(mask.nnz()) / static_cast<double>(mask.rows());
  const double ratio = static_cast<double>(fullest) / mean;
  return std::to_string(std::max(0L, std::lround(std::log2(ratio / kBalanced) / 2)));
}

std::string conv_text(const Conv2d& c) {
  return fmt::format("{}x{} {}.{}.{}.{} {}x{} {}", c.stride.h, c.stride.w, c.padding.top,
                     c.padding.bottom, c.padding.left, c.padding.right, c.dilation.h, c.dilation.w,
                     c.groups);
}

// Which gradients are wanted, and which tensors are used in place.
std::string pass_text(const PassShape& shape) {
  const TensorPitches& direct = shape.direct;
  const char* const merged = shape.merged ? "merged" : "apart";
  if (shape.pass == Pass::forward) {
    return fmt::format("forward direct {:d}{:d} {}", direct.x != 0, direct.y != 0, merged);
  }
  return fmt::format("backward dx {:d} values {:d} direct {:d}{:d}{:d} {}", shape.want_dx,
                     shape.want_d_values, direct.x != 0, direct.y != 0, direct.dx != 0, merged);
}

// The name comes from the system; the key is one line.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

std::string pick_key(const PickSituation& s) {
  const Mask& mask = s.spec.mask;
  return fmt::format(
      "{} density {} imbalance {} conv {} image {}x{} {} relu {:d} batch {} {} threads {} of {} "
      "cpu {}",
      to_text(mask.shape()), density_text(mask), imbalance_text(mask), conv_text(s.spec.conv),
      s.shape.image.height, s.shape.image.width, pass_text(s.shape), s.relu, s.shape.images,
      s.machine.unrolled_isa.name, s.threads, fmt::join(s.candidates, ","),
      printable(s.machine.cpu));
}

}  // namespace sparsejit
