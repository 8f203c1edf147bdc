"""Times a training step: dense PyTorch against the same network with sparse layers.

    python bench/torch/train_step.py resnet18 --sparsity 0.95
    python bench/torch/train_step.py bert --sparsity 0.97 --profile

A step is forward, loss, backward and SGD with momentum. Contenders take turns in one process;
medians are compared. Before timing, the sparse network's output is checked against the dense one
with the same zeros. `--profile` shows where the time goes.
"""

import argparse
import copy
import json
import statistics
from functools import partial
from time import perf_counter

import other_packages
import torch
from breakdown import breakdown
from networks import WORKLOADS
from torch.nn.utils import prune

import sparsejit


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=WORKLOADS)
    parser.add_argument("--sparsity", type=float, default=0.95)
    parser.add_argument("--method", choices=["uniform", "global", "erk"])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--warm-up", type=int, default=6)
    parser.add_argument("--layout", choices=["feature_major", "row_major"], default="feature_major")
    parser.add_argument("--channels-last", action="store_true", help="of all networks")
    parser.add_argument("--masked", action="store_true", help="also dense with masks")
    parser.add_argument(
        "--fused-norm", action="store_true", help="also both with sparsejit.fuse_batch_norm"
    )
    parser.add_argument(
        "--sparseprop", action="store_true", help="also that package, where it is installed"
    )
    parser.add_argument(
        "--pick", action="store_true", help="time each layer dense and sparse first"
    )
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


class Trainer:
    def __init__(self, model: torch.nn.Module):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step(self, x: torch.Tensor, labels: torch.Tensor) -> float:
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(x), labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_networks(arguments: argparse.Namespace) -> dict[str, torch.nn.Module]:
    workload = WORKLOADS[arguments.network]
    torch.manual_seed(1)
    dense = workload.make()
    options = dict(workload.options, layout=arguments.layout)
    if arguments.method:
        options["method"] = arguments.method
    sparse = sparsejit.sparsify(copy.deepcopy(dense), arguments.sparsity, **options)
    networks = {"dense": dense, "sparse": sparse}
    if arguments.masked:
        networks["masked"] = with_masks(copy.deepcopy(dense), sparse)
    if arguments.fused_norm:
        for name in ("dense", "sparse"):
            fused = sparsejit.fuse_batch_norm(copy.deepcopy(networks[name]))
            networks[f"{name}, fused norm"] = fused
    if arguments.channels_last:
        for network in networks.values():
            network.to(memory_format=torch.channels_last)
    return networks


def with_masks(dense: torch.nn.Module, sparse: torch.nn.Module) -> torch.nn.Module:
    """The dense network with the masks of the sparse one, by torch.nn.utils.prune."""
    for name, module in sparse.named_modules():
        if isinstance(module, (sparsejit.SparseLinear, sparsejit.SparseConv2d)):
            prune.custom_from_mask(dense.get_submodule(name), "weight", module.mask)
    return dense


def add_sparseprop(networks: dict[str, torch.nn.Module], x: torch.Tensor, threads: int) -> None:
    zeroed = sparsejit.densify(copy.deepcopy(networks["sparse"]))
    network = other_packages.sparseprop_network(zeroed, tuple(x.shape), threads)
    if network is not None:
        networks["sparseprop"] = network


@torch.no_grad()
def verify(networks: dict[str, torch.nn.Module], x: torch.Tensor) -> float:
    """The largest difference of outputs from the dense network with the same zeros, relative to
    the largest output."""
    zeroed = sparsejit.densify(copy.deepcopy(networks["sparse"])).eval()
    expected = zeroed(x)
    largest = 0.0
    for name in networks:
        if name.startswith("dense"):
            continue
        y = networks[name].eval()(x)
        difference = ((y - expected).abs().max() / expected.abs().max()).item()
        networks[name].train()
        if not difference < 1e-4:
            raise SystemExit(f"outputs of {name} and of the dense network differ by {difference}")
        largest = max(largest, difference)
    return largest


def measure(trainers: dict[str, Trainer], batch, arguments) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in trainers}
    for _ in range(arguments.warm_up + arguments.runs):
        for name, trainer in trainers.items():
            start = perf_counter()
            trainer.step(*batch)
            times[name].append(perf_counter() - start)
    return {name: seconds[arguments.warm_up :] for name, seconds in times.items()}


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    workload = WORKLOADS[arguments.network]
    networks = make_networks(arguments)
    size = arguments.batch or workload.batch
    x = workload.inputs(size)
    if arguments.channels_last:
        x = x.to(memory_format=torch.channels_last)
    batch = x, torch.randint(workload.classes, (size,))
    if arguments.sparseprop:
        add_sparseprop(networks, x, arguments.threads)
    difference = verify(networks, x)
    if arguments.pick:
        sparsejit.pick_by_timing(networks["sparse"], x)
    trainers = {name: Trainer(network.train()) for name, network in networks.items()}
    times = measure(trainers, batch, arguments)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    print(
        f"{arguments.network}, batch {size}, {arguments.threads} threads, "
        f"sparsity {arguments.sparsity}, outputs differ by {difference:.1e} of the largest"
    )
    for name, seconds in medians.items():
        print(f"{name:18} {seconds * 1e3:9.1f} ms   {medians['dense'] / seconds:5.2f} x dense")
    if arguments.profile:
        for name, trainer in trainers.items():
            print(f"\n{name}:\n{breakdown(partial(trainer.step, *batch))}")
        print(f"\n{sparsejit.report(networks['sparse'])}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"arguments": vars(arguments), "seconds": times}, file, indent=1)


if __name__ == "__main__":
    main()
