// SoakLayer: one layer whose mask changes for ever, and what its masks are made of.
//
// Even changes go back and forth between two masks that stay the same, a dense and a sparse one (as
// AC/DC training does; their kernels may come from the cache), odd ones to a mask never seen before
// (pruning and regrowth), every second of which differs from the one before in two rows only (its
// kernels share code with theirs). Every change carries the values over and runs both passes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/layer.h"

namespace sparsejit::test {

// A linear layer on a batch of samples, or a convolution on images of `size`.
struct SoakSpec {
  std::string name;
  MaskShape shape = {};
  bool is_conv = false;
  Conv2d conv = {};
  int64_t images = 1;  // or samples
  ImageSize size = {};
  Engine engine = Engine::automatic;
  CompileMode compile = CompileMode::immediate;
};

const std::vector<SoakSpec>& soak_specs();

class SoakLayer {
 public:
  SoakLayer(const SoakSpec& spec, Runtime& runtime);

  // The change with this number: set_mask, values moved, both passes on buffers kept for ever.
  // Returns the kernels that were generated.
  int64_t change(int64_t number);
  // Runs the current mask in guarded buffers, on this layer and on the portable engine; both must
  // match the reference in double. GoogleTest failures otherwise.
  void check(Runtime& portable, uint64_t seed) const;

 private:
  Layer compile(const Mask& mask, Engine engine, Runtime& runtime) const;
  void run();

  SoakSpec spec_;
  Mask dense_;
  Mask sparse_;
  Layer layer_;
  ImageSize out_;
  std::vector<float> values_, x_, y_, dy_, dx_, bias_, d_bias_, d_values_;
};

}  // namespace sparsejit::test
