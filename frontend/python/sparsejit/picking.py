"""Dense or sparse, by measurement: each sparse layer of a model, on the inputs it meets."""

from time import perf_counter

from ._torch import torch
from .modules import SparseModule

nn = torch.nn

_WARM_UP = 6  # also lets the runtime measure its engines
_RUNS = 5
_ALWAYS_DENSE = 2.0  # more than any sparsity


def pick_by_timing(model: nn.Module, example_input: object) -> dict[str, tuple[float, float]]:
    """Runs model(example_input) once, then times every sparse layer both ways, forward and
    backward, and leaves it on the faster. Seconds (sparse, dense) by layer name. Gradients of the
    parameters are left as they were."""
    inputs = _inputs_of_layers(model, example_input)
    times = {}
    for name, module in model.named_modules():
        if isinstance(module, SparseModule) and module in inputs:
            x = inputs[module]
            sparse, dense = (_seconds(module, x, below) for below in (0.0, _ALWAYS_DENSE))
            module.dense_below = 0.0 if sparse <= dense else _ALWAYS_DENSE
            times[name] = (sparse, dense)
    return times


def _inputs_of_layers(model: nn.Module, example_input: object) -> dict[nn.Module, torch.Tensor]:
    inputs: dict[nn.Module, torch.Tensor] = {}
    hooks = [
        module.register_forward_pre_hook(lambda m, arguments: inputs.setdefault(m, arguments[0]))
        for module in model.modules()
        if isinstance(module, SparseModule)
    ]
    try:
        with torch.no_grad():
            model(example_input)
    finally:
        for hook in hooks:
            hook.remove()
    return inputs


def _seconds(module: SparseModule, x: torch.Tensor, dense_below: float) -> float:
    """A forward and a backward pass, with the gradient of x: the least of several, as whatever
    disturbs a run adds to it."""
    module.dense_below = dense_below
    x = x.detach().requires_grad_()
    wanted = [x, *(p for p in module.parameters() if p.requires_grad)]
    times = []
    with torch.enable_grad():
        for _ in range(_WARM_UP + _RUNS):
            start = perf_counter()
            y = module(x)
            torch.autograd.grad(y, wanted, torch.ones_like(y))
            times.append(perf_counter() - start)
    return min(times[_WARM_UP:])
