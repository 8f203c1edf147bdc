"""Data-parallel training: masks are the same on every rank.

    ignore_masks(model)                       # masks are not broadcast each step
    ddp = DistributedDataParallel(model)      # all-reduces the stored weights' gradients only
    pruner = RigL(model, optimizer, ...)      # ranks agree, checked at each update

A pruner that changes how many weights are stored (those of magnitude_pruners.py) changes the length
of parameters: wrap the model in a new DistributedDataParallel when `pruner.step()` returns changes.
RigL and SET keep the number, and the wrapper.
"""

from ._torch import torch
from .modules import SparseModule

nn = torch.nn


def is_active() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def ignore_masks(model: nn.Module) -> None:
    """Tells DistributedDataParallel, before it wraps `model`, not to broadcast masks in each
    forward pass. Adds to what the model ignores already."""
    ignored = set(getattr(model, "_ddp_params_and_buffers_to_ignore", ()))
    ignored |= {
        f"{name}.mask_bits" if name else "mask_bits"
        for name, module in model.named_modules()
        if isinstance(module, SparseModule)
    }
    nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
        model, sorted(ignored)
    )


def check_masks_agree(model: nn.Module) -> None:
    """Compares the hashes of all masks over the ranks. RuntimeError, on every rank, names the first
    layer that differs."""
    own = {
        name: module.mask_hash
        for name, module in model.named_modules()
        if isinstance(module, SparseModule)
    }
    everyone: list = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(everyone, own)
    for name in own:
        hashes = [hashes.get(name) for hashes in everyone]
        if len(set(hashes)) > 1:
            raise RuntimeError(f"layer {name!r}: ranks have different masks, hashes {hashes}")


def average(tensor: torch.Tensor) -> torch.Tensor:
    """In place, over the ranks."""
    torch.distributed.all_reduce(tensor)
    return tensor.div_(torch.distributed.get_world_size())
