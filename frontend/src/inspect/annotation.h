// What each instruction of generated code serves, in the words of the layer.
//
//     rows are outputs   w[42] = W[3,17]   x stream 17 (tap w[42])   y row 3     bias[3]
//     rows are inputs    w[42] = W[3,17]   dy stream 3 (tap w[42])   dx row 17   x row 17   d_w[42]
//
// w[i] is the i-th stored weight in row-major order of the mask, W[n,m] the same weight at output
// n and input m; of a convolution it is W[oc,ic,kh,kw], rows and streams are channels or planes of
// them, and "x channel 17[+9]" is read 9 floats further on than y is written. An access to the
// weights of several taps names each of them. Where a stream is several vectors long (resident
// family), "x stream 17 [8:16]" says which floats.
//
// Products of two registers have no note; they are explained by what the registers hold:
//
//     vbroadcastss ymm0, dword ptr [rcx+0x40]       ; w[42] = W[3,17]
//     vmovups ymm15, [rdi+rax+0x1000]               ; dy stream 3 (tap w[42])
//     vfmadd231ps ymm14, ymm0, ymm15                ; dx row 17 += w[42] * dy
//     vfmadd231ps ymm5, ymm13, ymm15                ; sum of d_w[42] += x * dy
//
// Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/disassembly.h"
#include "inspect/inspected_layer.h"
#include "sparsejit/emit.h"

namespace sparsejit::frontend {

// One text an instruction, empty where there is nothing to say. `instructions` follow each other
// and were disassembled with text; `side` says whose rows the kernel walks: outputs (forward) or
// inputs (backward).
std::vector<std::string> annotate(std::span<const Instruction> instructions,
                                  const InspectedLayer& layer, const Plan& plan, Pass side);

// What a word of a table says; empty where it is a number of the code's own.
std::string annotate(const TableWord& word, const InspectedLayer& layer, const Plan& plan,
                     Pass side);

// The array a note's displacement goes into: "x", "values", ...
const char* array_name(NoteKind kind, Pass side);

}  // namespace sparsejit::frontend
