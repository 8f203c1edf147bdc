"""Pruners that keep the number of stored weights: the smallest go, others grow in their place."""

import math
from typing import Optional

from . import distributed, pruning
from ._torch import torch
from .dense_gradients import DenseGradients
from .modules import SparseModule
from .pruner import Pruner
from .schedule import Schedule, plan_schedule

nn = torch.nn


class _MovingPruner(Pruner):
    """Drops the smallest stored weights and grows as many; the share that moves decays from
    `fraction` along a cosine."""

    def __init__(self, model, optimizer, schedule: Schedule, fraction: float):
        super().__init__(model, optimizer, schedule)
        if not 0 <= fraction <= 1:
            raise ValueError(
                f"fraction: {fraction}, expected a share from 0 to 1 of stored weights"
            )
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
