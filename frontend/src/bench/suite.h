// Suites: the layers of a network, every distinct one once with how often it occurs, so that
//
//     sum over layers of occurrences * time  =  time of the network's layers in one training step
//
// Networks are for 224x224 images (ResNet, torchvision's v1.5: the stride of a bottleneck is on its
// 3x3) or for batch * sequence samples (BERT-base, encoder only). The first layer of a ResNet needs
// no gradient of its input. `paper` is no network but the paper's own benchmark: one linear layer
// and two convolutions over a range of sparsities. Pure data.
#pragma once

#include <vector>

#include "bench/workload.h"

namespace sparsejit::frontend {

enum class Suite { resnet18, resnet50, bert, paper };
const char* to_text(Suite suite);
inline bool is_network(Suite suite) { return suite != Suite::paper; }
int64_t default_batch(Suite suite);

// The distinct layers of a network, in order of first occurrence.
std::vector<Workload> list_network(Suite suite, int64_t batch, double sparsity);

std::vector<Workload> list_paper_workloads();

// A convolution with a 3x3 or 1x1 kernel: what the sum without first and last layers is over.
bool is_inner_convolution(const Workload& workload);

}  // namespace sparsejit::frontend
