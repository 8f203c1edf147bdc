"""One linear layer, forward and backward: PyTorch dense, with masks, and CSR, against SparseLinear,
and against the packages sparseprop and nerva_torch where they are installed.

    python bench/torch/linear_layer.py --shape 3072x768 --batch 902 --sparsity 0.95

Gradients of x and of the weights are computed; of CSR, SparseLinear and sparseprop at the stored
weights only. Outputs are compared before timing; contenders take turns and medians are shown.
"""

import argparse

import other_packages
import torch
from contest import Contest

import sparsejit


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="3072x768", help="outputs x inputs")
    parser.add_argument("--batch", type=int, default=902)
    parser.add_argument("--sparsity", type=float, default=0.95)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--warm-up", type=int, default=10)
    return parser.parse_args()


def add_pytorch(contest: Contest, layer: sparsejit.SparseLinear, x: torch.Tensor) -> None:
    weight = layer.dense().requires_grad_()
    unmasked = layer.dense().requires_grad_()
    mask = layer.mask.float()
    csr = layer.dense().to_sparse_csr().requires_grad_()
    linear = torch.nn.functional.linear
    contest.add("dense", lambda x: linear(x, weight), x, [weight])
    contest.add("masked", lambda x: linear(x, unmasked * mask), x, [unmasked])
    contest.add("CSR", lambda x: torch.sparse.mm(csr, x.t()).t(), x, [csr])


def add_sparsejit(contest: Contest, layer: sparsejit.SparseLinear, x: torch.Tensor) -> None:
    def feature_major(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.t().contiguous().t()

    contest.add("sparsejit", layer, x, [layer.values])
    contest.add(
        "sparsejit, x feature-major",
        layer,
        feature_major(x),
        [layer.values],
        dy=feature_major(contest.dy),
    )


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    out, inputs = map(int, arguments.shape.split("x"))
    layer = sparsejit.SparseLinear(inputs, out, bias=False, sparsity=arguments.sparsity)
    x = torch.randn(arguments.batch, inputs)
    contest = Contest(torch.randn(arguments.batch, out))
    add_pytorch(contest, layer, x)
    other_packages.add_sparseprop_linear(contest, layer.to_dense(), x, arguments.threads)
    other_packages.add_nerva_linear(contest, layer.dense(), x)
    add_sparsejit(contest, layer, x)
    contest.run(arguments.warm_up, arguments.runs)


if __name__ == "__main__":
    main()
