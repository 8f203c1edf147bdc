// What plan and emitter tests share: a made-up machine and the requests worth trying.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sparsejit/mask.h"
#include "sparsejit/plan.h"

namespace sparsejit::test {

// Every field is stated, so that golden plans do not depend on the machine that runs the test.
inline MachineModel made_up_machine(int64_t l2_bytes = 512 << 10) {
  MachineModel machine;
  machine.cpu = "made up";
  machine.avx2_fma = true;
  machine.l1_bytes = 32 << 10;
  machine.l2_bytes = l2_bytes;
  machine.l3_bytes = 16 << 20;
  machine.cores = 2;
  return machine;
}

inline MachineModel with_avx512(MachineModel machine) {
  machine.avx512 = true;
  machine.unrolled_isa = avx512_isa();
  return machine;
}

// A small and a large second-level cache, and both ISAs.
inline std::vector<MachineModel> made_up_machines() {
  return {made_up_machine(4 << 10), made_up_machine(1 << 20),
          with_avx512(made_up_machine(1 << 20))};
}

inline std::string to_text(const MachineModel& machine) {
  return fmt::format("L2 of {} KiB, {}", machine.l2_bytes >> 10, machine.unrolled_isa.name);
}

// Whether this machine can run what is generated for the made-up one.
inline bool can_run_code_for(const MachineModel& machine) {
  const MachineModel here = detect_machine();
  return here.avx2_fma && (machine.unrolled_isa == machine.isa || here.avx512);
}

// Pitches are left to the plan.
inline KernelRequest make_request(KernelKind kind, int64_t length) {
  KernelRequest request;
  request.kind = kind;
  request.length = length;
  return request;
}

inline KernelRequest make_tiled_request(int64_t length) {
  KernelRequest request = make_request(KernelKind::accumulate, length);
  request.tiled = true;
  return request;
}

inline KernelRequest make_table_request(KernelKind kind, int64_t length) {
  KernelRequest request = make_request(kind, length);
  request.table = true;
  return request;
}

// A kernel as a layer uses it: the request, and whose table is walked (see plan.h).
struct KernelCase {
  Pass side = Pass::forward;
  KernelRequest request;

  TapTable table(const Mask& mask) const {
    const TapTable table = lower_linear(mask);
    return side == Pass::forward ? table : transpose(table);
  }
};

// All uses of a kernel, at the edges of all families' lengths, with and without a tail.
inline std::vector<KernelCase> assorted_cases() {
  std::vector<KernelCase> cases;
  for (const int64_t length : {8, 9, 24, 40, 41, 61, 64, 65, 72, 902, 904}) {
    cases.push_back({Pass::forward, make_request(KernelKind::accumulate, length)});
    cases.push_back({Pass::backward, make_request(KernelKind::accumulate, length)});
    cases.push_back({Pass::backward, make_request(KernelKind::fused, length)});
    cases.push_back({Pass::forward, make_request(KernelKind::products, length)});
  }
  for (const int64_t length : {16, 41, 902}) {
    cases.push_back({Pass::forward, make_tiled_request(length)});
    cases.push_back({Pass::backward, make_tiled_request(length)});
    cases.back().request.own_in_tiles = length == 41;
  }
  for (const int64_t length : {8, 9, 16, 23, 40, 48, 61, 64}) {
    cases.push_back({Pass::forward, make_table_request(KernelKind::accumulate, length)});
    cases.push_back({Pass::backward, make_table_request(KernelKind::accumulate, length)});
    cases.push_back({Pass::backward, make_table_request(KernelKind::fused, length)});
    cases.push_back({Pass::forward, make_table_request(KernelKind::products, length)});
  }
  return cases;
}

inline const char* family_word(const KernelRequest& request) {
  if (request.tiled) return "tiled ";
  return request.table ? "table " : "";
}

inline std::string to_text(const KernelCase& kernel) {
  return fmt::format("{} {}{} of {} floats", to_text(kernel.side), family_word(kernel.request),
                     to_text(kernel.request.kind), kernel.request.length);
}

// Shapes and densities that break things: nothing, everything, one tap, single rows and columns,
// empty rows and columns, one dense row among sparse ones.
inline std::vector<Mask> assorted_masks() {
  std::vector<uint8_t> dense_row(size_t{9} * 30, 0);
  for (size_t column = 0; column < 30; ++column) dense_row[4 * 30 + column] = 1;
  dense_row[7 * 30 + 3] = 1;
  std::vector<uint8_t> one_tap(size_t{6} * 5, 0);
  one_tap[3 * 5 + 4] = 1;
  return {
      Mask::random({17, 33}, 0.8, 1),       Mask::random({64, 48}, 0.95, 2),
      Mask::random({12, 12}, 0.0, 3),       Mask::random({7, 9}, 1.0, 4),
      Mask::random({1, 50}, 0.5, 5),        Mask::random({50, 1}, 0.5, 6),
      Mask::random({1, 1}, 0.0, 7),         Mask::from_dense(one_tap, {6, 5}),
      Mask::from_dense(dense_row, {9, 30}),
  };
}

}  // namespace sparsejit::test
