// The arithmetic peak of one core, measured: AVX2 multiply-adds on registers alone. It puts GF/s
// of kernels in proportion ("percent of peak"). Its source is compiled with AVX2 and FMA: call it
// only where the machine has both.
#pragma once

namespace sparsejit::frontend {

// GF/s of one core, the best of several short runs (about 20 ms in all).
double measure_fma_peak_gflops();

}  // namespace sparsejit::frontend
