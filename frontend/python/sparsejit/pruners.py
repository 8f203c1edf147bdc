"""Pruners: change the masks of a model's sparse layers while it trains.

    pruner = RigL(model, optimizer, total_steps=1000)
    for x, labels in batches:
        optimizer.zero_grad(); loss(model(x), labels).backward(); optimizer.step()
        pruner.step()

`step` counts optimizer steps and, when an update is due, gives layers new masks: stored weights
keep value and optimizer state, new ones start at 0 with fresh state. Which weights go and come is
decided by the pure functions of pruning.py. In a distributed run the ranks decide alike, and it is
checked that they did.
"""

import math
from typing import Optional

from . import distributed, pruning
from ._torch import torch
from .dense_gradients import DenseGradients
from .mask_change import MaskChange
from .masks import check_sparsity
from .modules import SparseModule
from .optimizer_state import move_optimizer_state
from .schedule import Schedule, plan_schedule

nn = torch.nn
Changes = dict[str, MaskChange]

# Layers of less sparsity compute densely while a pruner goes through such phases.
_DENSE_BELOW = 0.8


class Pruner:
    """Common to all. As it is, it never changes a mask: train with constant ones.

    model      its SparseLinear and SparseConv2d layers are pruned
    optimizer  whose state follows the weights, or None
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optional[torch.optim.Optimizer] = None,
        schedule: Optional[Schedule] = None,
    ):
        self.layers = {n: m for n, m in model.named_modules() if isinstance(m, SparseModule)}
        if not self.layers:
            raise ValueError(
                f"pruner: {type(model).__name__} has no sparse layers; make some with "
                "sparsejit.sparsify (sparsity 0 stores all weights)"
            )
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.steps_done = 0

    def step(self) -> Changes:
        """Call after each optimizer.step(). What changed, by layer name; empty if nothing did."""
        self.steps_done += 1
        update = self.schedule.due(self.steps_done) if self.schedule else None
        changes: Changes = {}
        if update is not None:
            for name, mask in self.next_masks(update).items():
                change = self._set_mask(self.layers[name], mask)
                if change.changed:
                    changes[name] = change
            if distributed.is_active():
                distributed.check_masks_agree(self.model)
        return changes

    def next_masks(self, update: int) -> dict[str, torch.Tensor]:
        """The masks that update number `update` makes, flat, by layer name."""
        return {}

    def _set_mask(self, layer: SparseModule, mask: torch.Tensor) -> MaskChange:
        change = layer.set_mask(mask.view(layer.weight_shape))
        if change.changed and self.optimizer is not None:
            move_optimizer_state(self.optimizer, layer.values, change)
        return change

    def state_dict(self) -> dict:
        return {"steps_done": self.steps_done}

    def load_state_dict(self, state: dict) -> None:
        self.steps_done = state["steps_done"]


class Constant(Pruner):
    """Masks stay as they are."""

    def __init__(self, model: nn.Module, optimizer: Optional[torch.optim.Optimizer] = None):
        super().__init__(model, optimizer)


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
        return self.masks_at(
            pruning.cubic_sparsity(self.initial_sparsity, self.sparsity, progress)
        )


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


class _MovingPruner(Pruner):
    """Drops the smallest stored weights and grows as many; the share that moves decays from
    `fraction` along a cosine."""

    def __init__(self, model, optimizer, schedule: Schedule, fraction: float):
        super().__init__(model, optimizer, schedule)
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction: {fraction}, expected a share from 0 to 1 of stored weights")
        self.fraction = fraction

    def moved_weights(self, update: int, layer: SparseModule) -> int:
        share = pruning.cosine_fraction(self.fraction, update / self.schedule.updates)
        return math.floor(share * layer.nnz + 0.5)


class SET(_MovingPruner):
    """Sparse evolutionary training (Mocanu et al., 2018): grows at random. The same `seed` gives
    the same masks, on every rank."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optional[torch.optim.Optimizer] = None,
        *,
        total_steps: int,
        fraction: float = 0.3,
        first: Optional[int] = None,
        end: Optional[int] = None,
        interval: Optional[int] = None,
        seed: int = 0,
    ):
        schedule = plan_schedule(total_steps, first, end, interval)
        super().__init__(model, optimizer, schedule, fraction)
        self.generator = torch.Generator().manual_seed(seed)

    def next_masks(self, update):
        return {
            name: pruning.set_step(
                layer.mask.flatten(),
                layer.values.detach(),
                self.moved_weights(update, layer),
                self.generator,
            )
            for name, layer in self.layers.items()
        }

    def state_dict(self):
        return {**super().state_dict(), "generator": self.generator.get_state()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.generator.set_state(state["generator"])


class RigL(_MovingPruner):
    """Evci et al., 2020: grows where the dense gradient is largest. That gradient is computed in
    the step before an update only, from all backward passes since the step before it."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optional[torch.optim.Optimizer] = None,
        *,
        total_steps: int,
        fraction: float = 0.3,
        first: Optional[int] = None,
        end: Optional[int] = None,
        interval: Optional[int] = None,
    ):
        schedule = plan_schedule(total_steps, first, end, interval)
        super().__init__(model, optimizer, schedule, fraction)
        self.gradients: Optional[DenseGradients] = None
        self._attach_if_next_step_updates()

    def step(self):
        changes = super().step()
        if self.gradients is not None:
            self.gradients.detach()
        self._attach_if_next_step_updates()
        return changes

    def next_masks(self, update):
        masks = {}
        for name, layer in self.layers.items():
            gradient = self._gradient_of(layer)
            if gradient is not None:
                moved = self.moved_weights(update, layer)
                masks[name] = pruning.rigl_step(
                    layer.mask.flatten(), layer.values.detach(), gradient.flatten(), moved
                )
        return masks

    def load_state_dict(self, state):
        super().load_state_dict(state)
        if self.gradients is not None:
            self.gradients.detach()
        self._attach_if_next_step_updates()

    def _gradient_of(self, layer: SparseModule) -> Optional[torch.Tensor]:
        """None if nobody's backward pass reached the layer: its mask then stays."""
        gradient = self.gradients.of(layer)
        if not distributed.is_active():
            return gradient
        reached = torch.tensor(float(gradient is not None))
        torch.distributed.all_reduce(reached)
        if reached == 0:
            return None
        own = torch.zeros(layer.weight_shape) if gradient is None else gradient
        return distributed.average(own)

    def _attach_if_next_step_updates(self) -> None:
        due = self.schedule.due(self.steps_done + 1)
        self.gradients = None if due is None else DenseGradients(self.layers.values())
