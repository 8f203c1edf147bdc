"""Masks as PyTorch users see them: tensors of a weight's shape, nonzero where it is stored.

Inside the package a mask is a `_core.Mask`: immutable, hashed by content. A module keeps it as a
buffer of bits, eight positions to a byte, row-major, lowest bit first.
"""

from collections.abc import Sequence
from typing import Optional

from . import _core
from ._torch import torch

Shape = Sequence[int]


def as_mask(mask: torch.Tensor, shape: Shape) -> _core.Mask:
    """`mask`: a tensor of `shape`; entries that are not 0 are stored (NaN is refused)."""
    if not isinstance(mask, torch.Tensor):
        raise TypeError(f"mask: {type(mask).__name__}, expected a torch.Tensor")
    if tuple(mask.shape) != tuple(shape):
        raise ValueError(f"mask: shape {tuple(mask.shape)}, expected {tuple(shape)}")
    if mask.device.type != "cpu" or mask.layout != torch.strided:
        raise ValueError(
            f"mask: a {mask.layout} tensor on {mask.device}, expected dense on the cpu"
        )
    if mask.is_floating_point() and bool(mask.isnan().any()):
        raise ValueError("mask: contains NaN, expected zeros and nonzeros")
    stored = (mask.detach() != 0).contiguous().view(torch.uint8).flatten()
    return _core.Mask.from_dense(stored, list(shape))


def dense_mask(mask: _core.Mask, shape: Shape) -> torch.Tensor:
    """The mask as a bool tensor of `shape`."""
    return mask.dense().view(torch.bool).view(tuple(shape))


def random_mask(shape: Shape, sparsity: float, seed: Optional[int] = None) -> torch.Tensor:
    """A bool tensor with exactly round((1 - sparsity) * positions) entries, any choice equally
    likely. Without `seed` one is drawn from PyTorch's generator (torch.manual_seed)."""
    check_sparsity(sparsity)
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    return dense_mask(_core.Mask.random(list(shape), float(sparsity), seed), shape)


def check_sparsity(sparsity: float) -> None:
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparsity: {sparsity}, expected a share from 0 to 1 of weights left out")
