// The only file that sees OpenBLAS.
#include "dense_blas.h"

#include <cblas.h>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

blasint to_blas(int64_t size) {
  if (size > INT32_MAX) throw_error("dense: size {} does not fit OpenBLAS's 31-bit sizes", size);
  return static_cast<blasint>(size);
}

void multiply_backward_weight(DenseShape shape, const float* dy, int64_t dy_pitch, const float* x,
                              int64_t x_pitch, float kept, float* dw) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, to_blas(shape.out), to_blas(shape.in),
              to_blas(shape.batch), 1.0F, dy, to_blas(dy_pitch), x, to_blas(x_pitch), kept, dw,
              to_blas(shape.in));
}

}  // namespace

void dense_forward(DenseShape shape, const float* w, const float* x, int64_t x_pitch, float* y,
                   int64_t y_pitch) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_blas(shape.out), to_blas(shape.batch),
              to_blas(shape.in), 1.0F, w, to_blas(shape.in), x, to_blas(x_pitch), 0.0F, y,
              to_blas(y_pitch));
}

void dense_backward_input(DenseShape shape, const float* w, const float* dy, int64_t dy_pitch,
                          float* dx, int64_t dx_pitch) {
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, to_blas(shape.in), to_blas(shape.batch),
              to_blas(shape.out), 1.0F, w, to_blas(shape.in), dy, to_blas(dy_pitch), 0.0F, dx,
              to_blas(dx_pitch));
}

void dense_backward_weight(DenseShape shape, const float* dy, int64_t dy_pitch, const float* x,
                           int64_t x_pitch, float* dw) {
  multiply_backward_weight(shape, dy, dy_pitch, x, x_pitch, 0.0F, dw);
}

void dense_add_backward_weight(DenseShape shape, const float* dy, int64_t dy_pitch, const float* x,
                               int64_t x_pitch, float* dw) {
  multiply_backward_weight(shape, dy, dy_pitch, x, x_pitch, 1.0F, dw);
}

void dense_forward_row_major(DenseShape shape, const float* w, const float* x, int64_t x_pitch,
                             float* y, int64_t y_pitch) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, to_blas(shape.batch), to_blas(shape.out),
              to_blas(shape.in), 1.0F, x, to_blas(x_pitch), w, to_blas(shape.in), 0.0F, y,
              to_blas(y_pitch));
}

void dense_backward_input_row_major(DenseShape shape, const float* w, const float* dy,
                                    int64_t dy_pitch, float* dx, int64_t dx_pitch) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_blas(shape.batch), to_blas(shape.in),
              to_blas(shape.out), 1.0F, dy, to_blas(dy_pitch), w, to_blas(shape.in), 0.0F, dx,
              to_blas(dx_pitch));
}

void dense_backward_weight_row_major(DenseShape shape, const float* dy, int64_t dy_pitch,
                                     const float* x, int64_t x_pitch, float* dw) {
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, to_blas(shape.out), to_blas(shape.in),
              to_blas(shape.batch), 1.0F, dy, to_blas(dy_pitch), x, to_blas(x_pitch), 0.0F, dw,
              to_blas(shape.in));
}

// The number of threads is OpenBLAS's for the whole process: what others set stays.
void dense_sgemm(const Sgemm& g) {
  const auto op = [](bool transpose) { return transpose ? CblasTrans : CblasNoTrans; };
  const int before = openblas_get_num_threads();
  if (before != g.threads) openblas_set_num_threads(g.threads);
  cblas_sgemm(CblasRowMajor, op(g.transpose_a), op(g.transpose_b), to_blas(g.m), to_blas(g.n),
              to_blas(g.k), 1.0F, g.a, to_blas(g.lda), g.b, to_blas(g.ldb), 0.0F, g.c,
              to_blas(g.ldc));
  if (before != g.threads) openblas_set_num_threads(before);
}

void set_dense_threads(int threads) { openblas_set_num_threads(threads); }

std::string dense_library() {
  std::string config = openblas_get_config();
  const std::string version = config.substr(0, config.find(' ', config.find(' ') + 1));
  return fmt::format("{} {}", version, openblas_get_corename());
}

}  // namespace sparsejit::frontend
