// The only file that knows MKL's interface. Its header is not needed: five functions, declared here
// as the LP64 interface has them.
#include "mkl_sparse.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

constexpr int kSuccess = 0;
constexpr int kZeroBased = 0;
constexpr int kNotTransposed = 10;
constexpr int kRowMajor = 101;
constexpr int kColumnMajor = 102;
constexpr int kGnuThreading = 3;  // OpenMP of the compiler that oneDNN's threads come from too

struct MatrixDescription {
  int type = 20;  // general
  int mode = 0;
  int diagonal = 0;
};

struct Mkl {
  int (*set_threading_layer)(int) = nullptr;
  void (*set_num_threads)(int) = nullptr;
  void (*get_version_string)(char*, int) = nullptr;
  int (*create_csr)(void**, int, int, int, int*, int*, int*, float*) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*multiply)(int, float, void*, MatrixDescription, int, const float*, int, int, float, float*,
                  int) = nullptr;
  std::string problem;
};

void* open_library() {
  for (const char* name : {"libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <typename Function>
void load(void* library, const char* name, Function& function, std::string& problem) {
  void* address = dlsym(library, name);
  if (address == nullptr) problem = std::string("its libmkl_rt lacks ") + name;
  std::memcpy(&function, &address, sizeof(function));
}

Mkl load_mkl() {
  Mkl mkl;
  void* library = open_library();
  if (library == nullptr) {
    mkl.problem = "MKL is not installed: the dynamic linker finds no libmkl_rt.so";
    return mkl;
  }
  load(library, "MKL_Set_Threading_Layer", mkl.set_threading_layer, mkl.problem);
  load(library, "MKL_Set_Num_Threads", mkl.set_num_threads, mkl.problem);
  load(library, "MKL_Get_Version_String", mkl.get_version_string, mkl.problem);
  load(library, "mkl_sparse_s_create_csr", mkl.create_csr, mkl.problem);
  load(library, "mkl_sparse_destroy", mkl.destroy, mkl.problem);
  load(library, "mkl_sparse_s_mm", mkl.multiply, mkl.problem);
  if (mkl.problem.empty()) mkl.set_threading_layer(kGnuThreading);
  return mkl;
}

const Mkl& mkl() {
  static const Mkl loaded = load_mkl();
  return loaded;
}

int to_mkl(int64_t size) {
  if (size > INT32_MAX) throw_error("size {} does not fit MKL's 31-bit sizes", size);
  return static_cast<int>(size);
}

}  // namespace

const std::string& mkl_problem() { return mkl().problem; }

std::string mkl_version() {
  if (!mkl().problem.empty()) return "";
  std::array<char, 256> text{};
  mkl().get_version_string(text.data(), static_cast<int>(text.size() - 1));
  // "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build ..."
  const std::string sentence = text.data();
  const std::string before = "Version ";
  const size_t begin = sentence.find(before);
  if (begin == std::string::npos) return "MKL";
  const std::string version = sentence.substr(begin + before.size());
  return "MKL " + version.substr(0, version.find_first_of("- "));
}

void set_mkl_threads(int threads) { mkl().set_num_threads(threads); }

MklMatrix::MklMatrix(const Mask& mask, float* values)
    : columns_(mask.columns().begin(), mask.columns().end()) {
  to_mkl(mask.nnz());
  std::transform(mask.row_begin().begin(), mask.row_begin().end(), std::back_inserter(row_begin_),
                 [](int64_t begin) { return static_cast<int32_t>(begin); });
  const int status =
      mkl().create_csr(&handle_, kZeroBased, to_mkl(mask.rows()), to_mkl(mask.cols()),
                       row_begin_.data(), row_begin_.data() + 1, columns_.data(), values);
  if (status != kSuccess) throw_error("MKL refuses this matrix with status {}", status);
}

MklMatrix::~MklMatrix() { mkl().destroy(handle_); }

void MklMatrix::multiply(Layout layout, int64_t batch, const float* x, int64_t x_pitch, float* y,
                         int64_t y_pitch) const {
  const int status = mkl().multiply(kNotTransposed, 1.0F, handle_, MatrixDescription{},
                                    layout == Layout::feature_major ? kRowMajor : kColumnMajor, x,
                                    to_mkl(batch), to_mkl(x_pitch), 0.0F, y, to_mkl(y_pitch));
  if (status != kSuccess) throw_error("MKL's product failed with status {}", status);
}

}  // namespace sparsejit::frontend
