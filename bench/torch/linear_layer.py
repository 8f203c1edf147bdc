"""One linear layer, forward and backward: PyTorch dense, with masks, and CSR, against SparseLinear.

    python bench/torch/linear_layer.py --shape 3072x768 --batch 902 --sparsity 0.95

Gradients of x and of the weights are computed; of CSR at the stored weights only. Outputs are
compared before timing; contenders take turns and medians are shown.
"""

import argparse
import statistics
from time import perf_counter
from typing import Callable

import torch

import sparsejit

Step = Callable[[], torch.Tensor]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="3072x768", help="outputs x inputs")
    parser.add_argument("--batch", type=int, default=902)
    parser.add_argument("--sparsity", type=float, default=0.95)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--warm-up", type=int, default=10)
    return parser.parse_args()


def step_of(function, x: torch.Tensor, weight: torch.Tensor, dy: torch.Tensor) -> Step:
    def step() -> torch.Tensor:
        x.grad = weight.grad = None
        y = function(x, weight)
        y.backward(dy)
        return y

    return step


def contenders(layer: sparsejit.SparseLinear, x: torch.Tensor, dy: torch.Tensor) -> dict[str, Step]:
    dense = layer.dense()
    mask = layer.mask.float()
    csr = dense.to_sparse_csr()

    def masked(x, weight):
        return torch.nn.functional.linear(x, weight * mask)

    def by_csr(x, weight):
        return torch.sparse.mm(weight, x.t()).t()

    def leaf(tensor):
        return tensor.clone().requires_grad_()

    return {
        "dense": step_of(torch.nn.functional.linear, leaf(x), leaf(dense), dy),
        "masked": step_of(masked, leaf(x), leaf(dense), dy),
        "CSR": step_of(by_csr, leaf(x), leaf(csr), dy),
        "sparsejit": step_of(lambda x, _: layer(x), leaf(x), layer.values, dy),
        "sparsejit, x feature-major": step_of(
            lambda x, _: layer(x),
            leaf(x.t().contiguous()).detach().t().requires_grad_(),
            layer.values,
            dy.t().contiguous().t(),
        ),
    }


def works(name: str, step: Step, expected: torch.Tensor) -> bool:
    try:
        y = step()
    except RuntimeError as error:
        print(f"{name:28} cannot: {str(error).splitlines()[0]}")
        return False
    torch.testing.assert_close(y, expected, rtol=1e-3, atol=1e-3)
    return True


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    out, inputs = map(int, arguments.shape.split("x"))
    layer = sparsejit.SparseLinear(inputs, out, bias=False, sparsity=arguments.sparsity)
    x, dy = torch.randn(arguments.batch, inputs), torch.randn(arguments.batch, out)
    steps = contenders(layer, x, dy)
    expected = steps["dense"]()
    steps = {name: step for name, step in steps.items() if works(name, step, expected)}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(arguments.warm_up + arguments.runs):
        for name, step in steps.items():
            start = perf_counter()
            step()
            times[name].append(perf_counter() - start)
    medians = {n: statistics.median(t[arguments.warm_up :]) for n, t in times.items()}
    for name, seconds in medians.items():
        print(f"{name:28} {seconds * 1e3:9.2f} ms   {medians['dense'] / seconds:6.2f} x dense")


if __name__ == "__main__":
    main()
