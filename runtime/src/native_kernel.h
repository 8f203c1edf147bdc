// NativeKernel: generated code, ready to run.
//
// Its chunks lie in one or several pieces of code memory: a kernel made after a change of the mask
// shares the pieces with those chunks that stayed the same, and only the others were emitted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "code_fetch.h"
#include "code_memory.h"
#include "panel_kernel.h"
#include "profiling/code_listing.h"
#include "sparsejit/emit.h"

namespace sparsejit {

// Chunks published together.
struct CodePiece {
  std::unique_ptr<const CodeRange> range;
  std::unique_ptr<const CodeListing> listing;  // null: nobody asked; goes before the code does
};
using CodePiecePtr = std::shared_ptr<const CodePiece>;

struct ChunkCode {
  std::span<const uint8_t> code;
  size_t instruction_bytes = 0;  // of the code; the rest is a table
  bool emitted = true;           // for this kernel, not for an earlier one
};

class NativeKernel : public PanelKernel {
 public:
  // `chunks`: in the plan's order, inside of `pieces`. `cache_bytes`: see CodeFetch.
  NativeKernel(Plan plan, std::vector<int32_t> value_order, std::vector<ChunkCode> chunks,
               std::vector<CodePiecePtr> pieces, int64_t cache_bytes, double compile_seconds)
      : plan_(std::move(plan)),
        value_order_(std::move(value_order)),
        chunks_(std::move(chunks)),
        pieces_(std::move(pieces)),
        fetch_(chunks_.size(), cache_bytes),
        compile_seconds_(compile_seconds) {}

  void run(const PanelOperands& operands, int32_t block, int32_t first_part, int32_t last_part,
           int64_t length) const override;
  const Plan& plan() const override { return plan_; }
  std::span<const int32_t> value_order() const override { return value_order_; }

  const std::vector<ChunkCode>& chunks() const { return chunks_; }
  const std::vector<CodePiecePtr>& pieces() const { return pieces_; }
  int64_t code_bytes() const;
  int64_t emitted_bytes() const;  // of these, for this kernel
  int64_t emitted_chunks() const;
  double compile_seconds() const { return compile_seconds_; }

 private:
  Plan plan_;
  std::vector<int32_t> value_order_;
  std::vector<ChunkCode> chunks_;
  std::vector<CodePiecePtr> pieces_;
  CodeFetch fetch_;
  double compile_seconds_;
};

using NativeKernelPtr = std::shared_ptr<const NativeKernel>;

}  // namespace sparsejit
