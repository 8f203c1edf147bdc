"""Public packages for sparse training that are measured where they are installed:

    sparseprop 0.1.14   https://github.com/IST-DASLab/sparseprop: SparseLinear.from_dense,
                        SparseConv2d.from_dense (two ways to vectorize), and for whole networks
                        swap_modules_with_sparse, which times each layer dense and both ways
    nerva_torch 1.0.0   https://github.com/wiegerw/nerva-torch: LinearLayer, dense. Nerva's sparse
                        layers are in its C++ libraries, which no package index has.

Neither is needed. sparseprop has an OpenMP runtime of its own, so its threads are set in the
environment before it is imported.
"""

import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Optional

import torch
from contest import Contest
from torch import nn


def _import(name: str) -> Optional[ModuleType]:
    package = name.split(".")[0]
    if find_spec(package) is None:
        print(f"{package:28} not installed")
        return None
    return import_module(name)


def _sparseprop(module: str, threads: int) -> Optional[ModuleType]:
    os.environ["OMP_NUM_THREADS"] = str(threads)
    return _import(f"sparseprop.{module}")


def add_sparseprop_linear(
    contest: Contest, dense: nn.Linear, x: torch.Tensor, threads: int
) -> None:
    modules = _sparseprop("modules", threads)
    if modules is not None:
        layer = modules.SparseLinear.from_dense(dense)
        contest.add("sparseprop", layer, x, [layer.W_val])


def add_sparseprop_conv(contest: Contest, dense: nn.Conv2d, x: torch.Tensor, threads: int) -> None:
    modules = _sparseprop("modules", threads)
    if modules is not None:
        for over_width, name in ((False, "sparseprop"), (True, "sparseprop, over the width")):
            layer = modules.SparseConv2d.from_dense(dense, vectorizing_over_on=over_width)
            contest.add(name, layer, x, [layer.W_val])


def add_nerva_linear(contest: Contest, weight: torch.Tensor, x: torch.Tensor) -> None:
    layers = _import("nerva_torch.layers")
    if layers is None:
        return
    layer = layers.LinearLayer(weight.shape[1], weight.shape[0])
    layer.W[:] = weight

    def step() -> tuple[torch.Tensor, torch.Tensor]:
        y = layer.feedforward(x)
        layer.backpropagate(y, contest.dy)
        return y, layer.DX

    contest.add_step("nerva_torch (dense)", step)


def sparseprop_network(
    dense: nn.Module, input_shape: tuple[int, ...], threads: int
) -> Optional[nn.Module]:
    """A copy of `dense` in which layers with more than 80% zeros compute by the fastest of their
    three ways, as sparseprop measures them on input_shape; None where it is not installed."""
    utils = _sparseprop("utils", threads)
    return None if utils is None else utils.swap_modules_with_sparse(dense, input_shape)
