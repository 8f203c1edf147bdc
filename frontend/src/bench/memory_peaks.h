// The rates at which this machine's second-level cache and memory can be read, measured with AVX2
// loads. They put GF/s of kernels in proportion; see roofline.h. Needs AVX2.
//
//     L2:      one core, a buffer of half its size, read again and again
//     memory:  a buffer of four times the last-level cache, a share for each thread, read once a
//     run
//
// Both are the best of several runs, as a peak should be. Huge pages, as for tensors (matrix.h).
#pragma once

#include <cstdint>

namespace sparsejit::frontend {

// GB/s of one core; takes about 20 ms.
double measure_l2_gbytes(int64_t l2_bytes);

// GB/s of all threads together; takes a few tenths of a second.
double measure_memory_gbytes(int64_t l3_bytes, int threads);

}  // namespace sparsejit::frontend
