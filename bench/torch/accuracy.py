"""The same network trained with masks in dense PyTorch and with sparse layers, for every pruner.

    python bench/torch/accuracy.py --seeds 3
    python bench/torch/accuracy.py --data fashion-mnist --seeds 3

Both start from the same weights and see the same batches; the masked one computes densely with
the same masks, its layers' `dense_below` raised. Prints test accuracy, mean and spread over seeds.
"""

import argparse
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import torch
from images import FASHION_MNIST, Images, load_digits, load_fashion_mnist
from torch import nn

import sparsejit

SPARSITY = 0.9
BATCH = 64
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


def perceptron() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def convolutions() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10)),
    )


@dataclass(frozen=True)
class Task:
    load: Callable[[Path], Images]
    make: Callable[[], nn.Sequential]
    layers: tuple[str, ...]  # that become sparse
    rate: float
    steps: int


TASKS = {
    "digits": Task(lambda folder: load_digits(), perceptron, ("0", "2"), 0.1, 600),
    # A little over one epoch.
    "fashion-mnist": Task(load_fashion_mnist, convolutions, ("3", "7"), 0.05, 1000),
}


def make_network(task: Task, pruner: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = task.make()
    if pruner == "dense":
        return network
    sparsity = SPARSITY if pruner in STARTS_SPARSE else 0.0
    masks = {n: torch.rand_like(network[int(n)].weight) >= sparsity for n in task.layers}
    return sparsejit.sparsify(network, masks=masks)


def train(
    task: Task, images: Images, pruner: str, seed: int, steps: int, masked: bool
) -> nn.Module:
    network = make_network(task, pruner, seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=task.rate, momentum=0.9)
    schedule = None if pruner == "dense" else PRUNERS[pruner](network, optimizer, steps)
    if masked:
        for name in task.layers:
            network[int(name)].dense_below = _ALWAYS_DENSE
    order = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        batch = torch.randint(len(images[1]), (BATCH,), generator=order)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images[0][batch]), images[1][batch]).backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
    return network


@torch.no_grad()
def accuracy(network: nn.Module, images: Images) -> float:
    pairs = zip(images[2].split(500), images[3].split(500))
    right = sum((network(x).argmax(1) == labels).sum().item() for x, labels in pairs)
    return right / len(images[3])


def show(name: str, accuracies: list[float]) -> None:
    spread = statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0
    print(f"{name:20} {100 * statistics.mean(accuracies):6.2f}% +- {100 * spread:.2f}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=TASKS, default="digits")
    parser.add_argument("--folder", type=Path, default=FASHION_MNIST, help="of Fashion-MNIST")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of 64 images")
    parser.add_argument("--pruners", nargs="*", choices=PRUNERS, default=list(PRUNERS))
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    task = TASKS[arguments.data]
    images = task.load(arguments.folder)
    steps = arguments.steps or task.steps

    def accuracies(pruner: str, masked: bool) -> list[float]:
        seeds = range(1, arguments.seeds + 1)
        return [accuracy(train(task, images, pruner, s, steps, masked), images) for s in seeds]

    show("dense", accuracies("dense", False))
    for pruner in arguments.pruners:
        for masked in (True, False):
            kind = "masked" if masked else "sparse"
            show(f"{pruner}, {kind}", accuracies(pruner, masked))


if __name__ == "__main__":
    main()
