"""Data-parallel training of a sparse network on the digits; an example to copy from.

    torchrun --nproc_per_node 2 bench/torch/data_parallel.py --pruner rigl
    python bench/torch/data_parallel.py --pruner rigl          # one process, the same losses

Each rank takes its share of every batch, so that the losses do not depend on their number. Only
the gradients of stored weights are exchanged.
"""

import argparse
import gc
import os

import torch
import torch.distributed as dist
from images import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import sparsejit

PRUNERS = {
    "constant": lambda model, optimizer, steps: sparsejit.Constant(model, optimizer),
    "rigl": lambda model, optimizer, steps: sparsejit.RigL(model, optimizer, total_steps=steps),
    "set": lambda model, optimizer, steps: sparsejit.SET(model, optimizer, total_steps=steps),
    "gradual": lambda model, optimizer, steps: sparsejit.GradualMagnitude(
        model, optimizer, total_steps=steps, sparsity=0.95, initial_sparsity=0.9
    ),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pruner", choices=PRUNERS, default="rigl")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64, help="of all ranks together")
    return parser.parse_args()


def make_network() -> nn.Module:
    torch.manual_seed(1)
    network = nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )
    return sparsejit.sparsify(network, 0.9, method="erk")


def wrap(network: nn.Module, world: int) -> nn.Module:
    if world == 1:
        return network
    sparsejit.ignore_masks(network)
    return DistributedDataParallel(network)


def mean_over_ranks(value: torch.Tensor, world: int) -> float:
    value = value.detach().clone()
    if world > 1:
        dist.all_reduce(value)
    return (value / world).item()


def train(arguments: argparse.Namespace, rank: int, world: int) -> nn.Module:
    images, labels, _, _ = load_digits()
    network = make_network()
    model = wrap(network, world)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.2, momentum=0.9)
    pruner = PRUNERS[arguments.pruner](network, optimizer, arguments.steps)
    order = torch.Generator().manual_seed(2)
    for step in range(arguments.steps):
        batch = torch.randint(len(labels), (arguments.batch,), generator=order)[rank::world]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        shown = mean_over_ranks(loss, world)
        if rank == 0:
            print(f"step {step} loss {shown:.6f}", flush=True)
        changes = pruner.step()
        if any(change.added != change.removed for change in changes.values()):
            model = wrap(network, world)  # the parameters have other lengths now
    return network


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    if arguments.batch % world != 0:
        raise SystemExit(f"--batch {arguments.batch}: expected a multiple of {world} ranks")
    if world > 1:
        dist.init_process_group("gloo")
    network = train(arguments, rank, world)
    hashes = [m.mask_hash for m in network.modules() if isinstance(m, sparsejit.SparseLinear)]
    if rank == 0:
        print("masks", *hashes)
    if world > 1:
        sparsejit.check_masks_agree(network)
        # Wrappers left in reference cycles keep gloo's threads alive, which abort when they meet
        # an interpreter that is shutting down.
        gc.collect()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
