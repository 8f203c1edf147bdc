"""sparsejit: PyTorch layers that store, compute and train only the weights a mask keeps.

    import torch, sparsejit

    layer = sparsejit.SparseLinear(768, 3072, sparsity=0.95)      # like nn.Linear
    layer = sparsejit.SparseLinear.from_dense(linear, mask)       # mask: out x in, nonzero = kept
    model = sparsejit.sparsify(model, 0.95)                       # whole networks
    pruner = sparsejit.RigL(model, optimizer, total_steps=1000)   # masks that change

Machine code for each mask is generated when a layer first meets a shape. Tensors are float32 on
the CPU. Start reading at `modules.py`.

Names are looked up when they are first used, so that `sparsejit.show_config()` works, and says
so, where PyTorch is missing.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import show_config
    from .conv import SparseConv2d
    from .distributed import check_masks_agree, ignore_masks
    from .linear import SparseLinear
    from .mask_change import MaskChange
    from .optimizer_state import move_optimizer_state
    from .picking import pick_by_timing
    from .pruners import SET, AlternatingDense, Constant, GradualMagnitude, OneShotMagnitude, RigL
    from .reporting import report
    from .replacing import densify, sparsify

_HOME = {
    "show_config": "config",
    "SparseLinear": "linear",
    "SparseConv2d": "conv",
    "sparsify": "replacing",
    "densify": "replacing",
    "report": "reporting",
    "pick_by_timing": "picking",
    "Constant": "pruners",
    "OneShotMagnitude": "pruners",
    "GradualMagnitude": "pruners",
    "AlternatingDense": "pruners",
    "RigL": "pruners",
    "SET": "pruners",
    "MaskChange": "mask_change",
    "move_optimizer_state": "optimizer_state",
    "ignore_masks": "distributed",
    "check_masks_agree": "distributed",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'sparsejit' has no attribute {name!r}")
    value = getattr(_import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOME))
