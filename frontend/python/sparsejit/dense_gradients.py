"""DenseGradients: the gradient of every weight, stored or not, for steps that grow masks.

Attached to layers, it computes dW = dy^T x in the backward pass beside the layer's own gradients
and adds up over several passes. Costs a dense product a layer, so it is attached for update steps
only, and detached after them.
"""

from collections.abc import Iterable
from typing import Optional

from ._torch import torch
from .modules import SparseModule


class DenseGradients:
    def __init__(self, layers: Iterable[SparseModule]):
        self._sums: dict[SparseModule, torch.Tensor] = {}
        self._hooks = [layer.register_forward_hook(self._after_forward) for layer in layers]

    def of(self, layer: SparseModule) -> Optional[torch.Tensor]:
        """Of the weight's shape; None if no gradient has reached the layer."""
        return self._sums.get(layer)

    def detach(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _after_forward(self, layer, arguments, y) -> None:
        if not y.requires_grad:
            return
        x = arguments[0].detach()
        passed = y.detach() if layer.relu else None
        y.register_hook(lambda dy: self._add(layer, x, dy, passed))

    @torch.no_grad()
    def _add(self, layer, x, dy, passed) -> None:
        if passed is not None:
            dy = dy * (passed > 0)
        gradient = layer.dense_weight_gradient(x, dy)
        if layer in self._sums:
            self._sums[layer] += gradient
        else:
            self._sums[layer] = gradient
