"""Layers against each other: forward and backward of each, checked against the first, in turns.

    contest = Contest(dy)
    contest.add("dense", dense_layer, x, [dense_layer.weight])
    contest.add("sparse", sparse_layer, x, [sparse_layer.values])
    contest.run(warm_up=10, runs=21)

Gradients of the input and of the tensors named are computed in each step. A contender that raises
RuntimeError, or whose output or input gradient differs, is reported and left out.
"""

import statistics
from collections.abc import Sequence
from time import perf_counter
from typing import Callable, Optional

import torch

Function = Callable[[torch.Tensor], torch.Tensor]


class Contest:
    def __init__(self, dy: torch.Tensor):
        self.dy = dy
        self.steps: dict[str, Callable[[], tuple[torch.Tensor, torch.Tensor]]] = {}
        self.expected: Optional[tuple[torch.Tensor, torch.Tensor]] = None

    def add(
        self,
        name: str,
        function: Function,
        x: torch.Tensor,
        weights: Sequence[torch.Tensor],
        dy: Optional[torch.Tensor] = None,
    ) -> None:
        """`x` keeps its strides; `dy`: with the same numbers as the contest's, other strides."""
        x = x.detach().clone().requires_grad_()
        dy = self.dy if dy is None else dy

        def step() -> tuple[torch.Tensor, torch.Tensor]:
            x.grad = None
            for weight in weights:
                weight.grad = None
            y = function(x)
            y.backward(dy)
            return y.detach(), x.grad

        self.add_step(name, step)

    def add_step(self, name: str, step: Callable[[], tuple[torch.Tensor, torch.Tensor]]) -> None:
        """`step` returns y and the gradient of x."""
        try:
            result = step()
        except RuntimeError as error:
            print(f"{name:28} cannot: {str(error).splitlines()[0]}")
            return
        if self.expected is None:
            self.expected = result
        for what, got, want in zip(("y", "dx"), result, self.expected):
            difference = ((got - want).abs().max() / want.abs().max()).item()
            if not difference < 1e-4:
                print(f"{name:28} left out: its {what} differs by {difference:.1e}")
                return
        self.steps[name] = step

    def run(self, warm_up: int, runs: int) -> None:
        times: dict[str, list[float]] = {name: [] for name in self.steps}
        for _ in range(warm_up + runs):
            for name, step in self.steps.items():
                start = perf_counter()
                step()
                times[name].append(perf_counter() - start)
        medians = {name: statistics.median(seconds[warm_up:]) for name, seconds in times.items()}
        first = next(iter(medians))
        for name, seconds in medians.items():
            print(f"{name:28} {seconds * 1e3:9.2f} ms   {medians[first] / seconds:6.2f} x {first}")
