// MachineModel: what plans may know about the processor. Plain data, so that plans can be tested
// with made-up cache sizes; `detect_machine` reads the real ones once.
//
// The environment variable SPARSEJIT_ISA caps what is used: "portable" hides AVX2 and FMA.
#pragma once

#include <cstdint>
#include <string>

namespace sparsejit {

struct VectorIsa {
  std::string name = "avx2";
  int lanes = 8;       // floats a vector
  int registers = 16;  // vector registers
  bool operator==(const VectorIsa&) const = default;
};

struct MachineModel {
  std::string cpu = "unknown";
  bool avx2_fma = false;  // CPU and operating system both support AVX2 and FMA
  bool avx512 = false;    // reported only: dense libraries use it, this project does not
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 16 << 20;
  int cores = 1;  // physical cores this process may run on
  VectorIsa isa;
  bool operator==(const MachineModel&) const = default;
};

MachineModel detect_machine();

}  // namespace sparsejit
