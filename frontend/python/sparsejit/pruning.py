"""Selecting weights to drop and to grow: pure functions over flat tensors, no modules.

The order of magnitudes is total and the same everywhere: |w| compared by its bits, so that NaN
counts as the largest; among equals the lower position goes first, when dropping and when growing:

    keep 2 of w = [0.5 -0.2 0.5 0.5]:  drops 1 (smallest), then 0 (first of the ties)

A mask is a flat bool tensor over all positions, `values` the stored weights in its order.
"""

import math

from ._torch import torch


def stored_weights(positions: int, sparsity: float) -> int:
    """Weights left of `positions`: exactly round(sparsity * positions) are not stored."""
    return positions - math.floor(sparsity * positions + 0.5)


def magnitude_key(values: torch.Tensor) -> torch.Tensor:
    """int32, ordered as |values|."""
    return values.detach().contiguous().view(torch.int32) & 0x7FFFFFFF


def _smallest(key: torch.Tensor, count: int) -> torch.Tensor:
    """Bool: the `count` smallest keys, of equal ones those that come first."""
    if count <= 0:
        return torch.zeros(key.shape, dtype=torch.bool)
    limit = key.kthvalue(count).values
    chosen = key < limit
    ties = (key == limit).nonzero().squeeze(1)
    chosen[ties[: count - int(chosen.sum())]] = True
    return chosen


def keep_largest(mask: torch.Tensor, values: torch.Tensor, stored: int) -> torch.Tensor:
    """`mask` without its smallest values, `stored` of them left; itself if it stores no more."""
    surplus = values.numel() - stored
    if surplus <= 0:
        return mask
    kept = mask.clone()
    kept[mask] = ~_smallest(magnitude_key(values), surplus)
    return kept


def rigl_step(
    mask: torch.Tensor, values: torch.Tensor, gradient: torch.Tensor, moved: int
) -> torch.Tensor:
    """Drops the `moved` smallest values, then stores the `moved` positions with the largest dense
    gradient (one entry a position) among all that are then free, those just dropped included."""
    grown = keep_largest(mask, values, values.numel() - moved).clone()
    free = (~grown).nonzero().squeeze(1)
    grown[free[_smallest(~magnitude_key(gradient[free]), min(moved, free.numel()))]] = True
    return grown


def set_step(
    mask: torch.Tensor, values: torch.Tensor, moved: int, generator: torch.Generator
) -> torch.Tensor:
    """Drops the `moved` smallest values, then stores as many positions drawn without bias from
    those that were free before; fewer when fewer were free."""
    free = (~mask).nonzero().squeeze(1)
    moved = min(moved, free.numel())
    grown = keep_largest(mask, values, values.numel() - moved).clone()
    grown[free[torch.randperm(free.numel(), generator=generator)[:moved]]] = True
    return grown


def cubic_sparsity(start: float, end: float, progress: float) -> float:
    """Gradual magnitude pruning: fast first. `progress` from 0 to 1."""
    return end + (start - end) * (1 - progress) ** 3


def cosine_fraction(initial: float, progress: float) -> float:
    """RigL and SET: the share of weights that moves, `initial` at progress 0, none at 1."""
    return initial / 2 * (1 + math.cos(math.pi * progress))
