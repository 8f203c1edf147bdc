// Suites: the layers of a network, every distinct one once with how often it occurs, so that
//
//     sum over layers of occurrences * time  =  time of the network's layers in one training step
//
// Networks are for 224x224 images (ResNet, torchvision's v1.5: the stride of a bottleneck is on its
// 3x3) or for batch * sequence samples (BERT-base, encoder only). The first layer of a ResNet needs
// no gradient of its input, nor does that of `mlp`, two hidden layers of 1024 for 28x28 pixels.
//
// The others are no networks and have no sum: `paper` is the paper's own benchmark, one linear
// layer and two convolutions over a range of sparsities; `small` is linear layers that stay in a
// second-level cache, in short batches, where code size and overhead decide; `dlmc` is real masks
// from a folder of the caller's (masks_folder.h). Pure data.
#pragma once

#include <vector>

#include "bench/workload.h"

namespace sparsejit::frontend {

enum class Suite { resnet18, resnet50, bert, mlp, paper, small, dlmc };
const char* to_text(Suite suite);
inline bool is_network(Suite suite) { return suite <= Suite::mlp; }
int64_t default_batch(Suite suite);

// The distinct layers of a network, in order of first occurrence.
std::vector<Workload> list_network(Suite suite, int64_t batch, double sparsity);

// What `paper` and `small` measure unless told otherwise.
std::vector<WorkloadGrid> paper_grids();
std::vector<WorkloadGrid> small_grids();

// A convolution with a 3x3 or 1x1 kernel: what the sum without first and last layers is over.
bool is_inner_convolution(const Workload& workload);

}  // namespace sparsejit::frontend
