// emit_kernel: Plan -> machine code bytes. Pure: no executable memory, no global state.
//
// The code is position independent. Calling convention: System V x86-64, see KernelArguments for
// what each entry takes. Every chunk ends with vzeroupper and ret, uses only caller-saved
// registers, no stack, and touches exactly the floats the plan describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sparsejit/plan.h"

namespace sparsejit {

// Forward entry: fn(gathered=x, own=y, values, bias, bytes)
using ForwardEntry = void (*)(const float* gathered, float* own, const float* values,
                              const float* bias, int64_t bytes);
// Backward entry: fn(gathered=dy, own=dx, paired=x, values, d_values, bytes)
//   d_values is added to by the stream family and overwritten by the resident family.
using BackwardEntry = void (*)(const float* gathered, float* own, const float* paired,
                               const float* values, float* d_values, int64_t bytes);

// What one displacement in the code refers to; kept when EmitOptions::notes is set.
enum class NoteKind : uint8_t { value, bias, gathered, own, paired, d_value };

struct CodeNote {
  int64_t at = 0;  // byte offset of the 4-byte displacement in KernelCode::bytes
  NoteKind kind = NoteKind::value;
  int32_t row = 0;
  int64_t tap = -1;  // position in the table, -1 when the displacement serves the whole row
};

struct KernelCode {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> chunk_begin;  // chunks+1 offsets into bytes, in the plan's chunk order
  std::vector<CodeNote> notes;       // ascending by `at`
};

struct EmitOptions {
  bool notes = false;
};

// Empty result with a reason when the plan cannot be encoded (a displacement beyond 31 bits).
struct EmitResult {
  std::optional<KernelCode> code;
  std::string reason;
};

EmitResult emit_kernel(const TapTable& table, const Plan& plan, const EmitOptions& options = {});

}  // namespace sparsejit
