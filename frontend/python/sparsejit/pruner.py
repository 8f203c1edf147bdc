"""Pruner: changes the masks of a model's sparse layers while it trains.

    pruner = RigL(model, optimizer, total_steps=1000)
    for x, labels in batches:
        optimizer.zero_grad(); loss(model(x), labels).backward(); optimizer.step()
        pruner.step()

`step` counts optimizer steps and, when an update is due, gives layers new masks: stored weights
keep value and optimizer state, new ones start at 0 with fresh state. Which weights go and come is
decided by the subclasses, in magnitude_pruners.py and moving_pruners.py, with the pure functions of
pruning.py. In a distributed run the ranks decide alike, and it is checked that they did.
"""

from typing import Optional

from . import distributed
from ._torch import torch
from .mask_change import MaskChange
from .modules import SparseModule
from .optimizer_state import move_optimizer_state
from .schedule import Schedule

nn = torch.nn
Changes = dict[str, MaskChange]


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
