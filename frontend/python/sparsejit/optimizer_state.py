"""Optimizer state that follows the weights when a mask changes."""

from ._torch import torch
from .mask_change import MaskChange


def move_optimizer_state(
    optimizer: torch.optim.Optimizer, values: torch.nn.Parameter, change: MaskChange
) -> None:
    """Rearranges what `optimizer` keeps for each entry of `values` (momentum, Adam's moments) as
    set_mask rearranged the values; new weights start at 0. Counters of steps stay."""
    before = change.kept + change.removed
    state = optimizer.state.get(values, {})
    for key, entry in state.items():
        if isinstance(entry, torch.Tensor) and entry.shape == (before,):
            state[key] = change.move(entry)
