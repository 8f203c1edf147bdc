"""Pruners that go by magnitude: at once, gradually, or in turns with dense phases."""

from typing import Optional

from . import pruning
from ._torch import torch
from .masks import check_sparsity
from .pruner import Pruner
from .schedule import Schedule, plan_schedule

nn = torch.nn

# Layers of less sparsity compute densely while a pruner goes through such phases.
_DENSE_BELOW = 0.8


class _MagnitudePruner(Pruner):
    """Prunes to a sparsity: each layer (scope "layer") or all together (scope "global")."""

    def __init__(self, model, optimizer, schedule, sparsity: float, scope: str):
        super().__init__(model, optimizer, schedule)
        check_sparsity(sparsity)
        if scope not in ("layer", "global"):
            raise ValueError(f"scope: {scope!r}, expected 'layer' or 'global'")
        self.sparsity = sparsity
        self.scope = scope
        for layer in self.layers.values():
            layer.dense_below = max(layer.dense_below, _DENSE_BELOW)

    def masks_at(self, sparsity: float) -> dict[str, torch.Tensor]:
        masks = {name: layer.mask.flatten() for name, layer in self.layers.items()}
        values = {name: layer.values.detach() for name, layer in self.layers.items()}
        if self.scope == "layer":
            return {name: _pruned(masks[name], values[name], sparsity) for name in masks}
        joined = _pruned(torch.cat([*masks.values()]), torch.cat([*values.values()]), sparsity)
        return dict(zip(masks, joined.split([mask.numel() for mask in masks.values()])))


def _pruned(mask: torch.Tensor, values: torch.Tensor, sparsity: float) -> torch.Tensor:
    return pruning.keep_largest(mask, values, pruning.stored_weights(mask.numel(), sparsity))


class OneShotMagnitude(_MagnitudePruner):
    """Prunes to `sparsity` once, when `at_step` steps are done."""

    def __init__(self, model, optimizer=None, *, sparsity: float, at_step: int = 1, scope="layer"):
        super().__init__(model, optimizer, plan_schedule(at_step, at_step), sparsity, scope)

    def next_masks(self, update):
        return self.masks_at(self.sparsity)


class GradualMagnitude(_MagnitudePruner):
    """From `initial_sparsity` to `sparsity` along a cubic, fast first. The last update that fits
    the run of `total_steps` leaves exactly round(sparsity * positions) zeros. Layers compute
    densely until they are sparse enough."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optional[torch.optim.Optimizer] = None,
        *,
        total_steps: int,
        sparsity: float,
        initial_sparsity: float = 0.0,
        first: Optional[int] = None,
        end: Optional[int] = None,
        interval: Optional[int] = None,
        scope: str = "layer",
    ):
        schedule = plan_schedule(total_steps, first, end, interval)
        super().__init__(model, optimizer, schedule, sparsity, scope)
        check_sparsity(initial_sparsity)
        if initial_sparsity > sparsity:
            raise ValueError(f"initial_sparsity: {initial_sparsity}, expected at most {sparsity}")
        self.initial_sparsity = initial_sparsity

    def next_masks(self, update):
        progress = (update + 1) / self.schedule.updates
        return self.masks_at(pruning.cubic_sparsity(self.initial_sparsity, self.sparsity, progress))


class AlternatingDense(_MagnitudePruner):
    """AC/DC (Peste et al., 2021): phases with `sparsity`, by magnitude, and phases with all
    weights take turns, `interval` steps each; the last phase is sparse. Weights that come back
    start at 0."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optional[torch.optim.Optimizer] = None,
        *,
        total_steps: int,
        sparsity: float,
        first: Optional[int] = None,
        end: Optional[int] = None,
        interval: Optional[int] = None,
        scope: str = "layer",
    ):
        plan = plan_schedule(total_steps, first, end, interval)
        odd = plan.updates - (1 - plan.updates % 2)
        super().__init__(
            model, optimizer, Schedule(plan.first, plan.interval, odd), sparsity, scope
        )

    def next_masks(self, update):
        if update % 2 == 0:
            return self.masks_at(self.sparsity)
        return {name: torch.ones_like(layer.mask) for name, layer in self.layers.items()}
