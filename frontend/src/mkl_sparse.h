// MKL's sparse times dense product, for `bench`, where MKL is installed: libmkl_rt is looked up
// when the program runs, as the dynamic linker finds libraries (LD_LIBRARY_PATH), and nothing is
// linked.
//
//     if (mkl_problem().empty()) {
//       set_mkl_threads(1);
//       MklMatrix matrix(mask, values);
//       matrix.multiply(Layout::feature_major, batch, x, x_pitch, y, y_pitch);    // Y = W X
//     }
//
// Not thread-safe. The library stays loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sparsejit/layer.h"

namespace sparsejit::frontend {

// Why there is no MKL; empty when there is one.
const std::string& mkl_problem();

// "MKL 2024.2"; "" without MKL. The functions below need it.
std::string mkl_version();

void set_mkl_threads(int threads);

class MklMatrix {
 public:
  // Refers to `values`, which are read at every product. Error when MKL refuses the matrix.
  MklMatrix(const Mask& mask, float* values);
  ~MklMatrix();
  MklMatrix(const MklMatrix&) = delete;
  MklMatrix& operator=(const MklMatrix&) = delete;

  // Y = W X: X (cols x batch) and Y (rows x batch) feature-major, or both transposed.
  void multiply(Layout layout, int64_t batch, const float* x, int64_t x_pitch, float* y,
                int64_t y_pitch) const;

 private:
  std::vector<int32_t> row_begin_;
  std::vector<int32_t> columns_;
  void* handle_ = nullptr;
};

}  // namespace sparsejit::frontend
