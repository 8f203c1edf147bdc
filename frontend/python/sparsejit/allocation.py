"""How a network's sparsity is shared out among its layers: from weights to masks, by magnitude.

uniform   every layer the same; the first and the last stay dense
global    the smallest weights of the whole network go, wherever they are
erk       density proportional to (sum of a weight's sizes) / (product of them), at most 1
"""

import math

from ._torch import torch
from .pruning import keep_largest, stored_weights

METHODS = ("uniform", "global", "erk")
Weights = dict[str, torch.Tensor]


def allocate(weights: Weights, sparsity: float, method: str) -> dict[str, torch.Tensor]:
    """Masks (bool, of the weights' shapes) by name; layers without one stay dense. `weights` are
    in the order of the network."""
    if method == "uniform":
        inner = list(weights)[1:-1]
        return {name: _largest(weights[name], sparsity) for name in inner}
    if method == "global":
        return _global_masks(weights, sparsity)
    if method == "erk":
        densities = erk_densities({n: tuple(w.shape) for n, w in weights.items()}, 1 - sparsity)
        return {name: _largest(weight, 1 - densities[name]) for name, weight in weights.items()}
    raise ValueError(f"method: {method!r}, expected one of {', '.join(METHODS)}")


def _largest(weight: torch.Tensor, sparsity: float) -> torch.Tensor:
    everything = torch.ones(weight.numel(), dtype=torch.bool)
    stored = stored_weights(weight.numel(), sparsity)
    return keep_largest(everything, weight.flatten(), stored).view(weight.shape)


def _global_masks(weights: Weights, sparsity: float) -> dict[str, torch.Tensor]:
    joined = _largest(torch.cat([weight.flatten() for weight in weights.values()]), sparsity)
    parts = joined.split([weight.numel() for weight in weights.values()])
    return {
        name: part.clone().view(weight.shape)
        for (name, weight), part in zip(weights.items(), parts)
    }


def erk_densities(shapes: dict[str, tuple], density: float) -> dict[str, float]:
    """Of each layer; together they store `density` of all positions. A layer that would store
    more than it has stores all, and the others share what is left."""
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    raw = {name: sum(shape) / sizes[name] for name, shape in shapes.items()}
    full: set[str] = set()
    while True:
        budget = density * sum(sizes.values()) - sum(sizes[name] for name in full)
        rest = [name for name in shapes if name not in full]
        weight = sum(raw[name] * sizes[name] for name in rest)
        scale = budget / weight if weight else 0.0
        over = {name for name in rest if scale * raw[name] > 1}
        if not over:
            return {name: 1.0 if name in full else scale * raw[name] for name in shapes}
        full |= over
