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
    from .batch_norm import BatchNorm2d as BatchNorm2d
    from .batch_norm import fuse_batch_norm as fuse_batch_norm
    from .config import show_config as show_config
    from .conv import SparseConv2d as SparseConv2d
    from .distributed import check_masks_agree as check_masks_agree
    from .distributed import ignore_masks as ignore_masks
    from .linear import SparseLinear as SparseLinear
    from .magnitude_pruners import AlternatingDense as AlternatingDense
    from .magnitude_pruners import GradualMagnitude as GradualMagnitude
    from .magnitude_pruners import OneShotMagnitude as OneShotMagnitude
    from .mask_change import MaskChange as MaskChange
    from .moving_pruners import SET as SET
    from .moving_pruners import RigL as RigL
    from .optimizer_state import move_optimizer_state as move_optimizer_state
    from .options import CompileOptions as CompileOptions
    from .picking import pick_by_timing as pick_by_timing
    from .pruner import Constant as Constant
    from .replacing import densify as densify
    from .replacing import sparsify as sparsify
    from .reporting import report as report

_HOME = {
    "show_config": "config",
    "SparseLinear": "linear",
    "SparseConv2d": "conv",
    "CompileOptions": "options",
    "BatchNorm2d": "batch_norm",
    "fuse_batch_norm": "batch_norm",
    "sparsify": "replacing",
    "densify": "replacing",
    "report": "reporting",
    "pick_by_timing": "picking",
    "Constant": "pruner",
    "OneShotMagnitude": "magnitude_pruners",
    "GradualMagnitude": "magnitude_pruners",
    "AlternatingDense": "magnitude_pruners",
    "RigL": "moving_pruners",
    "SET": "moving_pruners",
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
