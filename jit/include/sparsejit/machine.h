// MachineModel: what plans may know about the processor. Plain data, so that plans can be tested
// with made-up cache sizes; `detect_machine` reads the real ones once.
//
// The environment variable SPARSEJIT_ISA caps what is used: "avx2" hides AVX-512 from generated
// code, "portable" hides AVX2 and FMA too.
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

inline VectorIsa avx512_isa() { return {.name = "avx512", .lanes = 16, .registers = 32}; }

struct MachineModel {
  std::string cpu = "unknown";
  bool avx2_fma = false;  // CPU and operating system both support AVX2 and FMA
  bool avx512 = false;    // both support AVX-512 F; dense libraries use it whatever the cap
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 16 << 20;
  int cores = 1;  // physical cores this process may run on
  // Of loops over streams, of all sums across lanes, and of intrinsics. Always eight lanes: they
  // fix the order of those sums, and twice as many were no faster where caches deliver the
  // operands.
  VectorIsa isa;
  // Of generated code that accumulates without a loop over the stream (resident and tiled family),
  // and of strips. AVX-512 where it may be used; sums that accumulate have the same bits then.
  VectorIsa unrolled_isa;
  bool operator==(const MachineModel&) const = default;
};

MachineModel detect_machine();

}  // namespace sparsejit
