// The inner loops of the interpreted engine, by kind and family; sums are fused and products.
// Compiled for AVX2 and FMA, strips for AVX-512; called only where the CPU has them.
//
// They follow the plan exactly as generated code does, vector by vector and sum by sum, so results
// are bit for bit the same.
#pragma once

#include "panel_kernel.h"

namespace sparsejit {

struct InterpretedJob {
  const TapTable& table;
  const Plan& plan;
  const int32_t* offsets;  // by tap, in floats from the start of the gathered panel
  // Strip family: of each chunk, in the order of its values.
  const std::vector<std::vector<TapGroup>>& groups;
  PanelOperands operands;
  int32_t block = 0;
  int32_t first_part = 0;
  int32_t last_part = 0;
  int64_t length = 0;

  int64_t first_row() const { return plan.part_begin[first_part]; }
  int64_t last_row() const { return plan.part_begin[last_part]; }
};

void interpret_stream_accumulate(const InterpretedJob& job);
void interpret_stream_sums(const InterpretedJob& job);
void interpret_strip_sums(const InterpretedJob& job);
void interpret_resident_accumulate(const InterpretedJob& job);
void interpret_resident_sums(const InterpretedJob& job);

}  // namespace sparsejit
