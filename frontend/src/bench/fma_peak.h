// The arithmetic peak of one core, measured: multiply-adds on registers alone. It puts GF/s of
// kernels in proportion ("percent of peak"). Its source is compiled with AVX2 and FMA: call it only
// where the machine has both.
#pragma once

#include "sparsejit/machine.h"

namespace sparsejit::frontend {

// GF/s of one core with vectors of `isa`, the best of several short runs (about 20 ms in all).
double measure_fma_peak_gflops(const VectorIsa& isa);

}  // namespace sparsejit::frontend
