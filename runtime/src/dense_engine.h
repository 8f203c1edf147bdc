// The dense engine: a linear layer by products of dense matrices, with the caller's sgemm.
//
//     forward    values -> W;  Y = X W^T;  bias and ReLU over Y
//     backward   values -> W;  dX = dY W;  dW = dY^T X -> d_values;  d_bias: sums of dY
//
// W is out x in, filled with zeros and the values in each call. Tensors whose samples or features
// are adjacent are used in place, in both layouts; others, and a dY that a ReLU gates, are copied.
// It pays where few weights are pruned. Not bit for bit like the other engines, see layer.h.
#pragma once

#include <string>

#include "lowered_layer.h"
#include "pass_tensors.h"
#include "scratch.h"
#include "sparsejit/runtime.h"
#include "thread_pool.h"

namespace sparsejit {

// Why a layer cannot run on it; empty: it can.
std::string dense_problem(const SgemmFunction& sgemm, const LayerSpec& spec, bool linear,
                          int64_t batch);

struct DenseContext {
  const Mask& mask;
  bool relu = false;
  const SgemmFunction& sgemm;
  ThreadPool& pool;
  ScratchPool& scratch;
};

void run_dense_forward(const DenseContext& context, const PassTensors& tensors);
void run_dense_backward(const DenseContext& context, const PassTensors& tensors);

}  // namespace sparsejit
