"""The same network trained with masks in dense PyTorch and with sparse layers, for every pruner.

    python bench/torch/accuracy.py --seeds 3

Both start from the same weights and see the same batches; the masked one computes densely with
the same masks, its layers' `dense_below` raised. Prints test accuracy, mean and spread over seeds.
"""

import argparse
import statistics

import torch
from digits import load_digits
from torch import nn

import sparsejit

SPARSITY = 0.9
_ALWAYS_DENSE = 2.0
PRUNERS = {
    "constant": lambda m, o, n: sparsejit.Constant(m, o),
    "one-shot": lambda m, o, n: sparsejit.OneShotMagnitude(m, o, sparsity=SPARSITY, at_step=n // 4),
    "gradual": lambda m, o, n: sparsejit.GradualMagnitude(m, o, total_steps=n, sparsity=SPARSITY),
    "ac/dc": lambda m, o, n: sparsejit.AlternatingDense(m, o, total_steps=n, sparsity=SPARSITY),
    "rigl": lambda m, o, n: sparsejit.RigL(m, o, total_steps=n),
    "set": lambda m, o, n: sparsejit.SET(m, o, total_steps=n),
}
STARTS_SPARSE = ("constant", "rigl", "set")


def make_network(pruner: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )
    if pruner == "dense":
        return network
    sparsity = SPARSITY if pruner in STARTS_SPARSE else 0.0
    layers = ["0", "2"]
    masks = {name: torch.rand_like(network[int(name)].weight) >= sparsity for name in layers}
    return sparsejit.sparsify(network, masks=masks)


def train(pruner: str, seed: int, steps: int, masked: bool) -> float:
    images, labels, test_images, test_labels = load_digits()
    network = make_network(pruner, seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    schedule = None if pruner == "dense" else PRUNERS[pruner](network, optimizer, steps)
    if masked:
        for module in network.modules():
            if isinstance(module, sparsejit.SparseLinear):
                module.dense_below = _ALWAYS_DENSE
    order = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        batch = torch.randint(len(labels), (64,), generator=order)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images[batch]), labels[batch]).backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
    with torch.no_grad():
        return (network(test_images).argmax(1) == test_labels).float().mean().item()


def show(name: str, accuracies: list[float]) -> None:
    spread = statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0
    print(f"{name:20} {100 * statistics.mean(accuracies):6.2f}% +- {100 * spread:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    seeds = range(1, arguments.seeds + 1)
    show("dense", [train("dense", seed, arguments.steps, False) for seed in seeds])
    for pruner in PRUNERS:
        for masked in (True, False):
            accuracies = [train(pruner, seed, arguments.steps, masked) for seed in seeds]
            show(f"{pruner}, {'masked' if masked else 'sparse'}", accuracies)


if __name__ == "__main__":
    main()
